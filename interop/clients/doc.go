// Package clients runs clients of other people's making against a real
// `orrery serve` process: two kafka-pythons, kcat, confluent-kafka, kafkajs, franz-go.
//
// What goes in? What interop/setup.sh installed. What comes out? Each script
// counts what it sent and got, and fails on any mismatch; here the stored
// batches are looked at besides. CLIENTS_BOOTSTRAP names another broker to run
// against. What always holds? A client that is not there is skipped loudly, and
// with CI=true that is a failure. What is it not? A comparison: see differential.
package clients
