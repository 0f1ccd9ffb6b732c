import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fullConfidence } from '../../../services/domain/record/record.ts'
import { decodeRecordChunk, encodeRecordChunk } from '../../../services/record-bytes/record-chunk.ts'
import {
  addChunkToColumns,
  objectTimeOfRow,
  partOf,
  type RecordColumns,
  recordColumns,
  recordInRow,
} from '../../../services/record-bytes/record-columns.ts'
import { chunk } from '../../suites/partition-messages.ts'

const anyCount = (): void => undefined

/** Return the records of all rows, each with the members of its part. */
const rowsOf = (columns: RecordColumns<unknown>) =>
  Array.from({ length: columns.count }, (_, row) => {
    const { accountId, liveMode, batchId, receivedAt } = partOf(columns, row)
    return { accountId, liveMode, batchId, receivedAt, ...recordInRow(columns, row) }
  })

const rowsOfBytes = (bytes: Buffer) =>
  decodeRecordChunk(bytes, 0).parts.flatMap(({ records, ...part }) => records.map(record => ({ ...part, ...record })))

describe('records in columns', () => {
  it('are the records of the decoded chunks', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 4 }), chunks => {
        const messages = chunks.map(one => encodeRecordChunk(one, 0))
        const columns = recordColumns(Buffer.concat(messages).length)
        for (const message of messages) addChunkToColumns(columns, message, 0, null, anyCount)
        const rows = messages.flatMap(rowsOfBytes)
        expect(rowsOf(columns)).toEqual(rows)
        for (const [row, record] of rows.entries()) expect(record).toMatchObject(objectTimeOfRow(columns, row))
        for (const { id, isPlain } of columns.locations) {
          const own = rows.filter(({ locationId }) => locationId === id)
          const arePlain = own.map(
            ({ confidence, energy, sessionReferenceId, recordReferenceId }) =>
              confidence === fullConfidence &&
              energy <= BigInt(Number.MAX_SAFE_INTEGER) &&
              sessionReferenceId === null &&
              recordReferenceId === null,
          )
          expect(isPlain).toBe(!arePlain.includes(false))
        }
      }),
    )
  })

  it('are read from exactly the bytes that the decoder accepts, and an unreadable chunk adds none', () => {
    const broken = fc.tuple(chunk, chunk, fc.nat(), fc.nat(255), fc.boolean())
    fc.assert(
      fc.property(broken, ([before, made, at, byte, cut]) => {
        const first = encodeRecordChunk(before, 0)
        const value = encodeRecordChunk(made, 0)
        const index = at % value.length
        if (!cut) value[index] = byte
        const bytes = cut ? value.subarray(0, index) : value
        const columns = recordColumns(first.length + bytes.length)
        addChunkToColumns(columns, first, 0, null, anyCount)
        const rows = rowsOfBytes(first)
        let expected: typeof rows | null = null
        try {
          expected = rowsOfBytes(bytes)
        } catch {
          // The chunk is unreadable.
        }
        if (expected === null) expect(() => addChunkToColumns(columns, bytes, 0, null, anyCount)).toThrow(RangeError)
        else expect(addChunkToColumns(columns, bytes, 0, null, anyCount)).toBe(expected.length)
        expect(rowsOf(columns)).toEqual([...rows, ...(expected ?? [])])
      }),
      { numRuns: 2_000 },
    )
  })

  it('of a location are plain up to 2,048: more are costed with pauses', () => {
    const isPlain = (count: number): boolean | undefined => {
      const records = Array.from({ length: count }, (_, index) => ({
        locationId: `loc_${'0'.repeat(24)}`,
        deviceId: null,
        energyFlowDirection: 'INBOUND' as const,
        tariffDirection: 'IMPORT' as const,
        start: index * 1_000,
        end: (index + 1) * 1_000,
        energy: 1n,
        confidence: fullConfidence,
        sessionReferenceId: null,
        recordReferenceId: null,
        recordNumber: index + 1,
        recordId: index.toString(16).padStart(24, '0'),
      }))
      const part = { accountId: `acc_${'0'.repeat(24)}`, liveMode: true, batchId: null, receivedAt: 0, records }
      const bytes = encodeRecordChunk({ kind: 'records', parts: [part] }, 0)
      const columns = recordColumns(bytes.length)
      addChunkToColumns(columns, bytes, 0, null, anyCount)
      return columns.locations[0]?.isPlain
    }
    expect([isPlain(2_048), isPlain(2_049)]).toEqual([true, false])
  })
})
