"""confluent-kafka (a current librdkafka): produce with all codecs, consume with assign(), and the admin client.

Usage: confluent.py BOOTSTRAP TOPIC COUNT
"""
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def main(bootstrap, topic, count):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, num_partitions=3, replication_factor=1)])[topic].result(60)
    wanted, failed = {}, []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": codec, "linger.ms": 5})
        for i in range(count):
            key, value = f"{codec}-{i}", f"value {i} " * 5
            producer.produce(topic, key=key, value=value, on_delivery=lambda e, _: failed.append(e) if e else None)
            wanted[key] = value
            producer.poll(0)
        if producer.flush(60) or failed:
            sys.exit(f"{codec}: not delivered: {failed[:3]}")

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(3)])
    seen = {}
    while len(seen) < len(wanted):
        m = consumer.poll(30)
        if m is None:
            sys.exit(f"nothing came for 30 s after {len(seen)} of {len(wanted)} records")
        if m.error():
            sys.exit(f"consuming: {m.error()}")
        key = m.key().decode()
        if key in seen:
            sys.exit(f"{key} came twice")
        seen[key] = m.value().decode()
    if seen != wanted:
        sys.exit("other records were consumed than were produced")
    ends = sum(consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in range(3))
    if ends != len(wanted):
        sys.exit(f"the ends add up to {ends}")
    consumer.close()
    print(f"confluent-kafka: {len(wanted)} produced and consumed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
