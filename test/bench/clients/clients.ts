import { ProduceAcks, Producer } from '@platformatic/kafka'
import kafkajs from 'kafkajs'
import { openKafkaLog } from '../../../services/platform/log/kafka/kafka-log.ts'
import { plainAddress } from '../../support/kafka/test-log.ts'

/** What is sent at once: each value with its partition. */
export type Value = { readonly partition: number; readonly value: Buffer }

/** A client that writes; `send` resolves once the brokers have all of it. */
export type Writer = { readonly send: (values: readonly Value[]) => Promise<void>; readonly close: () => Promise<void> }
export type WriterOptions = { readonly brokers: readonly string[]; readonly prefix: string }

const topic = 'meter.records.v1'
const clientId = 'acknowledgements'

const ofKafkajs =
  (idempotent: boolean) =>
  async ({ brokers, prefix }: WriterOptions): Promise<Writer> => {
    const { Kafka, logLevel, Partitioners } = kafkajs
    const kafka = new Kafka({ clientId, brokers: [...brokers], logLevel: logLevel.NOTHING })
    const producer = kafka.producer({ idempotent, createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    return {
      send: async values => void (await producer.send({ topic: prefix + topic, acks: -1, messages: [...values] })),
      close: () => producer.disconnect(),
    }
  }

const ofPlatformatic =
  (idempotent: boolean) =>
  async ({ brokers, prefix }: WriterOptions): Promise<Writer> => {
    const producer = new Producer({ clientId, bootstrapBrokers: [...brokers], idempotent, acks: ProduceAcks.ALL })
    return {
      send: async values =>
        void (await producer.send({ messages: values.map(one => ({ topic: prefix + topic, ...one })) })),
      close: () => producer.close(true),
    }
  }

/** The product's log over its client: a producer for each partition, a send under way in each. */
const ofProduct = async ({ brokers, prefix }: WriterOptions): Promise<Writer> => {
  const log = await openKafkaLog({ address: plainAddress(brokers), prefix, now: () => Date.now() })
  return {
    send: async values => {
      await Promise.all(
        values.map(({ partition, value }) => log.append(topic, partition, { key: '', value, headers: {} })),
      )
    },
    close: () => log.close(),
  }
}

/** The clients under the same treatment, with their defaults for what is not named. `spans`: a send goes to all partitions. */
export const clients = {
  'kafkajs, idempotent': { spans: true, open: ofKafkajs(true) },
  'kafkajs, idempotent, one partition a send': { spans: false, open: ofKafkajs(true) },
  'kafkajs, not idempotent': { spans: true, open: ofKafkajs(false) },
  '@platformatic/kafka, idempotent': { spans: true, open: ofPlatformatic(true) },
  '@platformatic/kafka, idempotent, one partition a send': { spans: false, open: ofPlatformatic(true) },
  'the log of Wattledger, over @platformatic/kafka': { spans: false, open: ofProduct },
} as const satisfies Record<
  string,
  { readonly spans: boolean; readonly open: (options: WriterOptions) => Promise<Writer> }
>

export type ClientName = keyof typeof clients
export const clientNames = Object.keys(clients) as readonly ClientName[]
