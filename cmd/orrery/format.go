package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recordFormat writes one record.
type recordFormat func(out *bufio.Writer, r *kgo.Record) error

// parseFormat reads consume's --format.
func parseFormat(text string) (recordFormat, error) {
	switch text {
	case "text":
		return parsePattern(`%v\n`)
	case "keyed":
		return parsePattern(`%k\t%v\n`)
	case "raw":
		return parsePattern(`%v`)
	case "json":
		return writeJSON, nil
	}
	if !strings.ContainsAny(text, "%\\") {
		return nil, usage("--format %s: it is text, keyed, json, raw or a pattern such as '%%o %%v\\n'", text)
	}
	return parsePattern(text)
}

// parsePattern turns a pattern into the pieces that it is made of, once.
func parsePattern(text string) (recordFormat, error) {
	var pieces []func(out *bufio.Writer, r *kgo.Record)
	literal := func(s string) {
		pieces = append(pieces, func(out *bufio.Writer, _ *kgo.Record) { out.WriteString(s) })
	}
	number := func(n func(r *kgo.Record) int64) {
		pieces = append(pieces, func(out *bufio.Writer, r *kgo.Record) { out.WriteString(strconv.FormatInt(n(r), 10)) })
	}
	for len(text) > 0 {
		i := strings.IndexAny(text, `%\`)
		if i < 0 {
			literal(text)
			break
		}
		if i > 0 {
			literal(text[:i])
		}
		if i+1 == len(text) {
			return nil, usage("--format: the pattern ends with a lonely %c", text[i])
		}
		switch text[i : i+2] {
		case "%v":
			pieces = append(pieces, func(out *bufio.Writer, r *kgo.Record) { out.Write(r.Value) })
		case "%k":
			pieces = append(pieces, func(out *bufio.Writer, r *kgo.Record) { out.Write(r.Key) })
		case "%h":
			pieces = append(pieces, writeHeaders)
		case "%t":
			pieces = append(pieces, func(out *bufio.Writer, r *kgo.Record) { out.WriteString(r.Topic) })
		case "%p":
			number(func(r *kgo.Record) int64 { return int64(r.Partition) })
		case "%o":
			number(func(r *kgo.Record) int64 { return r.Offset })
		case "%T":
			number(func(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() })
		case "%s":
			number(func(r *kgo.Record) int64 { return int64(len(r.Value)) })
		case "%%":
			literal("%")
		case `\n`:
			literal("\n")
		case `\t`:
			literal("\t")
		case `\\`:
			literal(`\`)
		default:
			return nil, usage("--format: %s is not known; see orrery consume --help", text[i:i+2])
		}
		text = text[i+2:]
	}
	return func(out *bufio.Writer, r *kgo.Record) error {
		for _, p := range pieces {
			p(out, r)
		}
		_, err := out.Write(nil) // a bufio.Writer keeps its first error
		return err
	}, nil
}

func writeHeaders(out *bufio.Writer, r *kgo.Record) {
	for i, h := range r.Headers {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(h.Key)
		out.WriteByte('=')
		out.Write(h.Value)
	}
}

// jsonRecord is a record as one JSON object. Bytes that are no text come as
// base64 under another name, so that nothing is lost or mistaken.
type jsonRecord struct {
	Topic       string       `json:"topic"`
	Partition   int32        `json:"partition"`
	Offset      int64        `json:"offset"`
	Timestamp   int64        `json:"timestamp"`
	Key         *string      `json:"key,omitempty"`
	KeyBase64   string       `json:"key_base64,omitempty"`
	Value       *string      `json:"value"`
	ValueBase64 string       `json:"value_base64,omitempty"`
	Headers     []jsonHeader `json:"headers,omitempty"`
}

type jsonHeader struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Base64 string  `json:"base64,omitempty"`
}

func writeJSON(out *bufio.Writer, r *kgo.Record) error {
	j := jsonRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli()}
	j.Key, j.KeyBase64 = textOrBase64(r.Key)
	j.Value, j.ValueBase64 = textOrBase64(r.Value)
	for _, h := range r.Headers {
		jh := jsonHeader{Name: h.Key}
		jh.Value, jh.Base64 = textOrBase64(h.Value)
		j.Headers = append(j.Headers, jh)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(&j)
}

func textOrBase64(b []byte) (*string, string) {
	switch {
	case b == nil:
		return nil, ""
	case utf8.Valid(b):
		text := string(b)
		return &text, ""
	default:
		return nil, base64.StdEncoding.EncodeToString(b)
	}
}
