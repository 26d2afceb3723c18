// kafkajs: the admin client, a plain and an idempotent producer. It has no consumer without a group, so the caller counts.
//
// Usage: node kafkajs.js BOOTSTRAP TOPIC COUNT
'use strict'
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')

async function main(bootstrap, topic, count) {
  const kafka = new Kafka({ brokers: [bootstrap], clientId: 'interop', logLevel: logLevel.ERROR })
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] })
  for (const [name, options, codec] of [
    ['plain', {}, CompressionTypes.None],
    ['gzip', {}, CompressionTypes.GZIP],
    ['idempotent', { idempotent: true, maxInFlightRequests: 1 }, CompressionTypes.None],
  ]) {
    const producer = kafka.producer(options)
    await producer.connect()
    const messages = Array.from({ length: count }, (_, i) => ({ key: `${name}-${i}`, value: `value ${i}` }))
    await producer.send({ topic, acks: -1, compression: codec, messages })
    await producer.disconnect()
  }
  const ends = await admin.fetchTopicOffsets(topic)
  const total = ends.reduce((n, p) => n + Number(p.high), 0)
  if (total !== 3 * count) throw new Error(`the ends add up to ${total}, produced were ${3 * count}`)
  await admin.disconnect()
  console.log(`kafkajs: ${3 * count} produced`)
}

main(process.argv[2], process.argv[3], Number(process.argv[4])).catch((e) => {
  console.error(e)
  process.exit(1)
})
