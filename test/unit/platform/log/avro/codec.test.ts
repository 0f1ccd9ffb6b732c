import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { avroType, openCodec, publishedSchemas } from '../../../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../../../services/platform/log/avro/schema-ids.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'
import type { RecordChunk, RecordPart } from '../../../../../services/record-bytes/accepted-record.ts'
import { encodeParts } from '../../../../../services/record-bytes/record-chunk.ts'
import { maxPartBytes, maxPartRecords } from '../../../../../services/record-bytes/record-part.ts'
import { toAvro } from '../../../../suites/avro-chunk.ts'
import { chunk, otherMessage } from '../../../../suites/partition-messages.ts'

const codec = await openCodec(localSchemaIds())
const recordSchemas = publishedSchemas().filter(entry => entry.topic === recordTopic)
const currentRecordSchema = avroType(recordSchemas.at(-1)?.schema ?? '')

describe('codec of meter messages', () => {
  it('decodes every chunk of records that it encodes', async () => {
    await fc.assert(
      fc.asyncProperty(chunk, async made => {
        expect(await codec.decodeMeterMessage(codec.encodeMeterMessage(made))).toEqual(made)
      }),
    )
  })

  it('writes the same bytes as avsc with the published schema', () => {
    fc.assert(
      fc.property(chunk, made => {
        expect(codec.encodeMeterMessage(made).subarray(5).toString('hex')).toBe(
          currentRecordSchema.toBuffer(toAvro(made)).toString('hex'),
        )
      }),
    )
  })

  it('writes the same bytes for a chunk and for its encoded parts', () => {
    fc.assert(
      fc.property(chunk, made => {
        const parts = made.parts.filter(part => part.records.length > 0)
        const encoded = parts.flatMap(encodeParts)
        expect(codec.encodeParts(encoded).toString('hex')).toBe(
          codec.encodeMeterMessage({ ...made, parts }).toString('hex'),
        )
        expect(encoded.map(part => part.recordNumbers)).toEqual(
          parts.map(part => part.records.map(entry => entry.recordNumber)),
        )
        expect(encoded.map(part => part.locationId)).toEqual(parts.map(part => part.records[0]?.locationId))
      }),
    )
  })

  it('divides a part that does not fit into a chunk, without loss', async () => {
    const [of] = fc.sample(chunk, 100).flatMap(made => made.parts.filter(part => part.records.length > 0))
    if (of === undefined) throw new Error('no part has a record')
    const [first] = of.records
    const records = Array.from({ length: 1_300 }, (_, index) => ({
      ...first,
      recordNumber: index + 1,
      recordReferenceId: '€'.repeat(255),
    }))
    const part = { ...of, records } as RecordPart
    const pieces = encodeParts(part)
    for (const { bytes, recordNumbers } of pieces) {
      expect(bytes.length).toBeLessThanOrEqual(maxPartBytes)
      expect(recordNumbers.length).toBeLessThanOrEqual(maxPartRecords)
    }
    const read = await codec.decodeMeterMessage(codec.encodeParts(pieces))
    expect(read.kind === 'records' && read.parts.flatMap(piece => piece.records)).toEqual(records)
  })

  it('decodes submissions, recost requests and register readings that it encodes', async () => {
    await fc.assert(
      fc.asyncProperty(otherMessage, async made => {
        expect(await codec.decodeMeterMessage(codec.encodeMeterMessage(made))).toEqual(made)
      }),
    )
  })

  it('keeps energy exact over 64 bits', async () => {
    const [made] = fc.sample(
      chunk.filter(candidate => candidate.parts.some(entry => entry.records.length > 0)),
      1,
    ) as [RecordChunk]
    for (const value of [0n, 1n, 2n ** 31n, 2n ** 53n + 1n, 10n ** 17n - 1n, 2n ** 63n - 1n, -1n, -(2n ** 63n)]) {
      const changed = {
        ...made,
        parts: made.parts.map(entry => ({ ...entry, records: entry.records.map(r => ({ ...r, energy: value })) })),
      }
      expect(await codec.decodeMeterMessage(codec.encodeMeterMessage(changed))).toEqual(changed)
      expect(codec.encodeMeterMessage(changed).subarray(5)).toEqual(currentRecordSchema.toBuffer(toAvro(changed)))
    }
  })

  it('refuses an id that is not 24 hexadecimal digits instead of writing another one', () => {
    const made: RecordChunk = {
      kind: 'records',
      parts: [{ accountId: 'acc_1', liveMode: true, batchId: null, receivedAt: 0, records: [] }],
    }
    expect(() => codec.encodeMeterMessage(made)).toThrow(RangeError)
  })

  it('reports corrupt bytes as undecodable, and never fails otherwise', async () => {
    const breaking = fc.tuple(chunk, fc.nat(), fc.nat(255), fc.boolean())
    await fc.assert(
      fc.asyncProperty(breaking, async ([made, at, byte, cut]) => {
        const value = codec.encodeMeterMessage(made)
        const byteIndex = 5 + (at % (value.length - 5))
        if (!cut) value[byteIndex] = byte
        const result = await codec
          .decodeMeterMessage(cut ? value.subarray(0, byteIndex) : value)
          .catch((error: unknown) => error)
        if (result instanceof Error) expect(result).toMatchObject({ code: 'undecodable', retriable: false })
        else expect(result).toMatchObject({ kind: expect.any(String) })
      }),
      { numRuns: 500 },
    )
  })

  it('reports an unknown schema number as not retriable', async () => {
    const value = Buffer.from([0, 1, 2, 3, 4, 0, 0])
    await expect(codec.decodeMeterMessage(value)).rejects.toMatchObject({ code: 'schema_unknown', retriable: false })
  })

  it('looks up the schema of a later release and reads the common fields', async () => {
    const ids = localSchemaIds()
    const reader = await openCodec(ids)
    const later = JSON.parse(recordSchemas.at(-1)?.schema ?? '')
    later[1].fields.push({ name: 'note', type: 'string' })
    const number = await ids.register('meter.records.v1-value', JSON.stringify(later))
    const submission = fc.sample(
      otherMessage.filter(message => message.kind === 'submission'),
      1,
    )[0]
    const bytes = avroType(JSON.stringify(later)).toBuffer({
      'wattledger.meter.Submission': { ...submission, note: 'new' },
    })
    const header = Buffer.alloc(5)
    header.writeUInt32BE(number, 1)
    expect(await reader.decodeMeterMessage(Buffer.concat([header, bytes]))).toEqual(submission)
  })
})

describe('codec of dead letters and events', () => {
  it('decodes dead letters that it encodes', async () => {
    const letter = {
      topic: recordTopic,
      partition: 3,
      offset: 2 ** 40,
      position: -1,
      timestamp: 1_790_000_000_000,
      key: 'acc/loc',
      headers: { some_name: 'a', generation: '1' },
      value: Buffer.from([0, 255, 7]),
      code: 'undecodable',
      reason: 'why',
      failedAt: 1_790_000_000_001,
    }
    expect(await codec.decodeDeadLetter(codec.encodeDeadLetter(letter))).toEqual(letter)
  })

  it('decodes events that it encodes', async () => {
    const event = {
      eventId: 'evt_1',
      type: 'device.create',
      accountId: 'acc_1',
      liveMode: false,
      objectId: null,
      timeCreated: 5,
      data: '{"ü":1}',
    }
    expect(await codec.decodeEvent(codec.encodeEvent(event))).toEqual(event)
  })
})

describe('published schemas', () => {
  // A published schema never changes, because stored messages must stay readable. Add the hash of a new schema here.
  const published: Record<string, string> = {
    'meter.dead-letters.v1 1': '00693e390e07af660b01d311ad4f84e04bc85787adbef57838b559cc36bb9cb0',
    'meter.records.v1 1': '4e5d52edfd77c31034acb63c4f30fbec6651da9132df1a0821bb5f6ce5c2e136',
    'meter.records.v1 2': '22f5efec989a360a9ae7c08147b6f43a7bbdcd63962f3b529c8316bedc576739',
    'webhook.events.v1 1': '27f9b9f3916a1f64f74ab0af59ae27b3cdfe9099645ee3149169c001e6423e97',
  }

  it('never change', () => {
    const found = publishedSchemas().map(({ topic, version, schema }) => [
      `${topic} ${version}`,
      createHash('sha256')
        .update(JSON.stringify(JSON.parse(schema)))
        .digest('hex'),
    ])
    expect(Object.fromEntries(found)).toEqual(published)
  })

  it('can be read with every later schema of the topic', () => {
    for (const older of publishedSchemas())
      for (const newer of publishedSchemas().filter(
        entry => entry.topic === older.topic && entry.version >= older.version,
      )) {
        const [written, read] = [avroType(older.schema), avroType(newer.schema)]
        const resolver = read.createResolver(written)
        for (let i = 0; i < 50; i += 1)
          expect(() => read.fromBuffer(written.toBuffer(written.random()), resolver)).not.toThrow()
      }
  })

  it('fail the check with a field that older messages do not have', () => {
    const older = recordSchemas[0]?.schema ?? ''
    const newer = JSON.parse(older)
    newer[1].fields.push({ name: 'note', type: 'string' })
    expect(() => avroType(JSON.stringify(newer)).createResolver(avroType(older))).toThrow()
  })
})
