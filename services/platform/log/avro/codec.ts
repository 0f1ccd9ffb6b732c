import { readdirSync, readFileSync } from 'node:fs'
import avro from 'avsc'
import { decodeRecordChunk, encodeRecordChunk, joinParts } from '../../../record-bytes/record-chunk.ts'
import type { EncodedPart } from '../../../record-bytes/record-part.ts'
import { Failure } from '../../failure.ts'
import { deadLetterTopic, eventTopic, recordTopic, type TopicName, topicNames } from '../log.ts'
import type { DeadLetter, EventEnvelope, MeterMessage, Reading, ReadingChunk, ReadingPart } from '../messages.ts'
import type { SchemaIds } from './schema-ids.ts'

/** Encoder and decoder of the topics' values: a zero byte, the number of the schema (4 bytes), then Avro. */
export type Codec = {
  readonly encodeMeterMessage: (message: MeterMessage) => Buffer
  /** Encode a chunk from encoded parts. */
  readonly encodeParts: (parts: readonly EncodedPart[]) => Buffer
  /** Throws `undecodable` for invalid bytes and `schema_unknown` for an unknown schema number. Neither is retriable. */
  readonly decodeMeterMessage: (value: Buffer) => Promise<MeterMessage>
  /**
   * Read a message that is a chunk of records of the current schema: `read` gets the index of its Avro value. Returns
   * undefined for other messages. Throws as `decodeMeterMessage` does.
   */
  readonly readChunk: <T>(value: Buffer, read: (value: Buffer, at: number) => T) => T | undefined
  readonly encodeDeadLetter: (letter: DeadLetter) => Buffer
  readonly decodeDeadLetter: (value: Buffer) => Promise<DeadLetter>
  readonly encodeEvent: (event: EventEnvelope) => Buffer
  readonly decodeEvent: (value: Buffer) => Promise<EventEnvelope>
}

export type PublishedSchema = { readonly topic: TopicName; readonly version: number; readonly schema: string }

const headerLength = 5
const published = new URL('../../../../schemas/log/published/', import.meta.url)

/** Return all published schemas, oldest first. The last schema of a topic is the current one. */
export const publishedSchemas = (): readonly PublishedSchema[] =>
  readdirSync(published)
    .map(file => {
      const [name = '', version = ''] = file.split('.')
      const topic = topicNames.find(candidate => candidate === `${name.replace('-', '.')}.v1`)
      if (topic === undefined)
        throw new Error(`schemas/log/published/${file} does not belong to a topic. Name it after a topic.`)
      return { topic, version: Number(version), schema: readFileSync(new URL(file, published), 'utf8') }
    })
    .sort((a, b) => (a.topic === b.topic ? a.version - b.version : a.topic < b.topic ? -1 : 1))

/**
 * Avro long for energies: they exceed 2^53, so they are bigints. All other longs are numbers, and Avro refuses inexact
 * ones.
 */
const energyLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8)
    buffer.writeBigInt64LE(value)
    return buffer
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
})

/** Create the Avro type of a schema. Its energies are bigints. */
export const avroType = (schema: string): avro.Type =>
  avro.Type.forSchema(JSON.parse(schema), {
    typeHook: part => (typeof part === 'object' && 'unit' in part && part.unit === '1e-6 Wh' ? energyLong : undefined),
  })

/**
 * Create the codec: register the published schemas, oldest first, and remember their numbers. The codec looks up the
 * schema of a newer release once, by its number. Rejects if the registry is unavailable.
 */
export const openCodec = async (schemaIds: SchemaIds): Promise<Codec> => {
  const [records, letters, events] = await Promise.all(
    ([recordTopic, deadLetterTopic, eventTopic] as const).map(topic => openTopic(topic, schemaIds)),
  )
  if (records === undefined || letters === undefined || events === undefined)
    throw new Error('A topic has no published schema.')
  const readChunk: Codec['readChunk'] = (value, read) =>
    value[0] === 0 && value.length > headerLength && value.readUInt32BE(1) === records.id && value[headerLength] === 0
      ? decodeOrThrow(() => read(value, headerLength))
      : undefined
  return {
    encodeMeterMessage: message =>
      message.kind === 'records'
        ? writeHeader(encodeRecordChunk(message, headerLength), records.id)
        : records.encode(wrapUnion(message)),
    encodeParts: parts => writeHeader(joinParts(parts, headerLength), records.id),
    readChunk,
    decodeMeterMessage: async value => {
      const chunk = readChunk(value, decodeRecordChunk)
      if (chunk !== undefined) return chunk
      const message = await records.decode(value)
      return decodeOrThrow(() => unwrapUnion(records.type, message))
    },
    encodeDeadLetter: letters.encode,
    decodeDeadLetter: async value => (await letters.decode(value)) as DeadLetter,
    encodeEvent: events.encode,
    decodeEvent: async value => (await events.decode(value)) as EventEnvelope,
  }
}

type TopicCodec = {
  readonly id: number
  readonly type: avro.Type
  readonly encode: (value: unknown) => Buffer
  readonly decode: (value: Buffer) => Promise<unknown>
}

const openTopic = async (topic: TopicName, schemaIds: SchemaIds): Promise<TopicCodec> => {
  const schemas = publishedSchemas().filter(entry => entry.topic === topic)
  const current = schemas.at(-1)
  if (current === undefined) throw new Error(`${topic} has no published schema.`)
  const type = avroType(current.schema)
  const readers = new Map<number, (bytes: Buffer) => unknown>()
  const addReader = (id: number, schema: string): void => {
    const schemaId = avroType(schema)
    const resolver = type.createResolver(schemaId)
    readers.set(id, bytes => type.fromBuffer(bytes, resolver))
  }
  let id = 0
  for (const { schema } of schemas) {
    id = await schemaIds.register(`${topic}-value`, schema)
    addReader(id, schema)
  }
  return {
    id,
    type,
    encode: value => writeHeader(Buffer.concat([Buffer.alloc(headerLength), type.toBuffer(value)]), id),
    decode: async value => {
      if (value[0] !== 0 || value.length <= headerLength)
        throw undecodable(new RangeError('The message has no schema number.'))
      const schemaId = value.readUInt32BE(1)
      if (!readers.has(schemaId)) {
        const schema = await schemaIds.schemaOf(schemaId)
        if (schema === null) throw new Failure('schema_unknown', `No schema has the number ${schemaId}.`)
        decodeOrThrow(() => addReader(schemaId, schema))
      }
      return decodeOrThrow(() => readers.get(schemaId)?.(value.subarray(headerLength)))
    },
  }
}

const branchOf = {
  records: 'wattledger.meter.RecordChunk',
  submission: 'wattledger.meter.Submission',
  order: 'wattledger.meter.Order',
  readings: 'wattledger.meter.ReadingChunk',
} as const satisfies Record<MeterMessage['kind'], string>

const wrapUnion = (message: MeterMessage): unknown => ({
  [branchOf[message.kind]]: message.kind === 'readings' ? readingsToAvro(message) : message,
})

/** Form of readings in Avro: its energies are no unions, and a maximum power is a text. */
type AvroReadings = {
  readonly parts: readonly (Omit<ReadingPart, 'register' | 'readings'> & {
    readonly register: {
      readonly kind: 'LIFETIME' | 'SESSION'
      readonly digits: number | null
      readonly maxPower: string | null
    } | null
    readonly readings: readonly (Omit<Reading, 'value'> & { readonly value: bigint; readonly isWithdrawn: boolean })[]
  })[]
}

const readingsToAvro = ({ parts }: ReadingChunk): AvroReadings => ({
  parts: parts.map(({ register, readings, ...part }) => ({
    ...part,
    register: register === null ? null : { ...register, maxPower: register.maxPower?.toString() ?? null },
    readings: readings.map(reading => ({
      ...reading,
      value: reading.value ?? 0n,
      isWithdrawn: reading.value === null,
    })),
  })),
})

const readingsFromAvro = ({ parts }: AvroReadings): ReadingChunk => ({
  kind: 'readings',
  parts: parts.map(({ register, readings, ...part }) => ({
    ...part,
    register:
      register === null
        ? null
        : { ...register, maxPower: register.maxPower === null ? null : BigInt(register.maxPower) },
    readings: readings.map(({ isWithdrawn, value, ...reading }) => ({ ...reading, value: isWithdrawn ? null : value })),
  })),
})

const unwrapUnion = (type: avro.Type, value: unknown): MeterMessage => {
  const [branch, message] = Object.entries(value as object)[0] ?? []
  // A chunk of an older schema is encoded again with the current schema, so that one decoder reads all records.
  if (branch === branchOf.records) return decodeRecordChunk(type.toBuffer(value), 0)
  const kind = (Object.keys(branchOf) as MeterMessage['kind'][]).find(candidate => branchOf[candidate] === branch)
  if (kind === undefined) throw new RangeError('The kind of the message is unknown.')
  return kind === 'readings' ? readingsFromAvro(message) : { kind, ...message }
}

const writeHeader = (value: Buffer, id: number): Buffer => {
  value[0] = 0
  value.writeUInt32BE(id, 1)
  return value
}

const decodeOrThrow = <T>(decode: () => T): T => {
  try {
    return decode()
  } catch (cause) {
    throw undecodable(cause)
  }
}

const undecodable = (cause: unknown): Failure =>
  new Failure('undecodable', 'The bytes are not a message of this topic.', { cause })
