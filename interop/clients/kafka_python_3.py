"""kafka-python 3.x: produce, then consume from the earliest offset without a group.

Usage: kafka_python_3.py BOOTSTRAP TOPIC COUNT
"""
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


def main(bootstrap, topic, count):
    # The defaults of 3.x: acks=all and idempotent.
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    sent = [producer.send(topic, key=b"k%d" % i, value=b"value %d" % i, headers=[("n", str(i).encode())]) for i in range(count)]
    producer.flush(timeout=60)
    places = {(m.partition, m.offset) for m in (f.get(timeout=60) for f in sent)}
    if len(places) != count:
        sys.exit(f"{count} records were acknowledged at {len(places)} places")
    producer.close()

    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=60_000)
    seen = {}
    for record in consumer:
        key = record.key.decode()
        if key in seen:
            sys.exit(f"{key} came twice")
        if dict(record.headers)["n"].decode() != key[1:]:
            sys.exit(f"{key} has the headers {record.headers}")
        seen[key] = record.value.decode()
        if len(seen) == count:
            break
    wanted = {f"k{i}": f"value {i}" for i in range(count)}
    if seen != wanted:
        sys.exit(f"consumed {len(seen)} of {count} records, or other ones")
    ends = consumer.end_offsets([TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)])
    if sum(ends.values()) != count:
        sys.exit(f"the ends are {ends}")
    consumer.close()
    print(f"kafka-python 3: {count} produced and consumed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
