import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { ProduceAcks, Producer } from '@platformatic/kafka'
import type { SentRecord, ShapeSettings } from './settings.ts'

/** Gateway of a shape. The process receives its settings as a JSON argument, and sends its port when it is ready. */
const { shape, brokers, topic, port } = JSON.parse(process.argv[2] ?? '') as ShapeSettings
const producer = new Producer({
  clientId: 'shape-gateway',
  bootstrapBrokers: [...brokers],
  compression: 'lz4',
  acks: ProduceAcks.ALL,
})
let failed = 0

const acceptSubmission = async (bytes: Buffer): Promise<number> => {
  const records = JSON.parse(bytes.toString()) as readonly SentRecord[]
  if (shape === 'timed writer') {
    await producer.send({ messages: [{ topic, key: Buffer.from(records[0]?.device_id ?? ''), value: bytes }] })
    return records.length
  }
  const messages = records.map(record => ({
    topic,
    key: Buffer.from(record.device_id),
    value: Buffer.from(JSON.stringify(record)),
  }))
  producer.send({ messages }).catch(error => {
    failed += records.length
    process.stderr.write(`${failed} records were accepted but not sent: ${String(error)}\n`)
  })
  return records.length
}

const server = createServer((request, response) => {
  buffer(request)
    .then(acceptSubmission)
    .then(
      records => {
        const body = JSON.stringify({ records_accepted: records })
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
      },
      () => response.writeHead(503, { 'content-length': 0 }).end(),
    )
})
// The load never closes its connections.
server.keepAliveTimeout = 0
process.once('disconnect', () => process.exit(0))
server.listen(port, '127.0.0.1', () => process.send?.({ port }))
