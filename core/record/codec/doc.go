// Package codec compresses, decompresses and walks the records of a batch.
//
// What goes in? The bytes behind a batch's header and the codec its attributes
// name. What comes out? The plain bytes, piece by piece or whole, or the shape
// of one record after the other. What always holds? Memory is bounded by a
// window and the caller's limit, never by what a length field announces; the
// same bytes always give the same result. What is it not? It knows no Kafka
// error codes: core/door chooses them.
package codec
