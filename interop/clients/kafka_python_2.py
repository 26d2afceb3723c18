"""kafka-python 2.0.2: produce with each codec it has without a library, then consume from the earliest offset.

Usage: kafka_python_2.py BOOTSTRAP TOPIC COUNT
"""
import sys

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic


def main(bootstrap, topic, count):
    wanted = {}
    for codec in (None, "gzip"):
        producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", compression_type=codec)
        for i in range(count):
            key, value = f"{codec}-{i}", f"value {i}"
            producer.send(topic, key=key.encode(), value=value.encode())
            wanted[key] = value
        producer.flush(timeout=60)
        producer.close()

    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=60_000)
    seen = {}
    for record in consumer:
        key = record.key.decode()
        if key in seen:
            sys.exit(f"{key} came twice")
        seen[key] = record.value.decode()
        if len(seen) == len(wanted):
            break
    if seen != wanted:
        sys.exit(f"consumed {len(seen)} of {len(wanted)} records, or other ones")
    consumer.close()

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic + "-made", num_partitions=2, replication_factor=1)])
    if topic + "-made" not in admin.list_topics():
        sys.exit("a topic that was made is not listed")
    admin.delete_topics([topic + "-made"])
    admin.close()
    print(f"kafka-python 2.0.2: {len(wanted)} produced and consumed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
