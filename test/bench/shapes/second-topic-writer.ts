import { type Message, ProduceAcks, Producer } from '@platformatic/kafka'
import type { SentRecord, ShapeSettings } from './settings.ts'
import { inBatches, readTopic } from './topic-reader.ts'
import { insertUsage, usageRow } from './usage-table.ts'

const maxPerPoll = 10_000
const pollMs = 10
const rowsPerInsert = 10_000
const insertMs = 1_000
const price = 250_000_000

type PricedMessage = { readonly sent: SentRecord; readonly price: number }

/** Price each record from memory and send it to the second topic: one by one in a partition, partitions in parallel. */
const priceRecords = async ({ brokers, topic, secondTopic, group, locations }: ShapeSettings): Promise<void> => {
  const prices = new Map(locations.map(location => [location, price]))
  const producer = new Producer({ clientId: 'shape-pricer', bootstrapBrokers: [...brokers], acks: ProduceAcks.ALL })
  const reader = await readTopic(brokers, topic, group)
  for await (const polled of inBatches<Message>(reader.messages, maxPerPoll, pollMs)) {
    const partitions = [...Map.groupBy(polled, ({ partition }) => partition).values()]
    await Promise.all(
      partitions.map(async messages => {
        for (const { key, value } of messages) {
          const sent = JSON.parse(value.toString()) as SentRecord
          const priced: PricedMessage = { sent, price: prices.get(sent.location_id) ?? 0 }
          await producer.send({ messages: [{ topic: secondTopic, key, value: Buffer.from(JSON.stringify(priced)) }] })
        }
      }),
    )
    await reader.commit(polled)
  }
}

const storePriced = async ({ brokers, secondTopic, group, engineUrl }: ShapeSettings): Promise<void> => {
  const reader = await readTopic(brokers, secondTopic, `${group}-stored`)
  for await (const batch of inBatches<Message>(reader.messages, rowsPerInsert, insertMs)) {
    const priced = batch.map(({ value }) => JSON.parse(value.toString()) as PricedMessage)
    await insertUsage(
      engineUrl,
      priced.map(one => usageRow(one.sent, BigInt(one.price))),
    )
    await reader.commit(batch)
  }
}

/** Price records into a second topic, and store the records of that topic. */
export const secondTopicWriter = async (settings: ShapeSettings): Promise<void> => {
  await Promise.all([priceRecords(settings), storePriced(settings)])
}
