import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ChunkBatch,
  type ChunkHeaders,
  fromHeaders,
  toHeaders,
} from '../../../../services/platform/log/chunk-headers.ts'
import {
  frameSize,
  readFrame,
  readFrameHeader,
  writeFrame,
} from '../../../../services/platform/log/lmdb/message-frame.ts'
import type { Message } from '../../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../../services/platform/log/partition.ts'
import { rowVersionOf, rowVersionParts } from '../../../../services/platform/log/row-version.ts'

describe('partition of a key', () => {
  it('never changes', () => {
    const keys = ['', 'a', 'acc_000000000000000000000001/loc_000000000000000000000001', 'acc_x/loc_ü']
    expect(keys.map(key => [partitionOf(key, 8), partitionOf(key, 6)])).toEqual([
      [3, 5],
      [3, 3],
      [3, 5],
      [4, 2],
    ])
  })

  it('spreads locations evenly', () => {
    const counts = new Array<number>(8).fill(0)
    for (let i = 0; i < 80_000; i += 1) {
      const partition = partitionOf(
        partitionKey('acc_000000000000000000000001', `loc_${i.toString(16).padStart(24, '0')}`),
        8,
      )
      counts[partition] = (counts[partition] ?? 0) + 1
    }
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })
})

describe('row version', () => {
  const generation = fc.nat(1_023)
  const offset = fc.integer({ min: 0, max: 2 ** 38 - 1 })
  const position = fc.nat(65_535)

  it('orders messages by generation, offset and position, in 64 bits', () => {
    const cause = fc.tuple(generation, offset, position)
    fc.assert(
      fc.property(cause, cause, (a, b) => {
        const [first, second] = [rowVersionOf(...a), rowVersionOf(...b)]
        const order = a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
        expect(Math.sign(Number(first - second))).toBe(Math.sign(order))
        expect(first).toBeLessThan(2n ** 64n)
      }),
    )
  })

  it('can be split into its parts', () => {
    fc.assert(
      fc.property(generation, offset, position, (g, o, p) => {
        expect(rowVersionParts(rowVersionOf(g, o, p))).toEqual({ generation: g, offset: o, position: p })
      }),
    )
  })

  it('throws for parts that do not fit', () => {
    expect(() => rowVersionOf(1_024, 0, 0)).toThrow(RangeError)
    expect(() => rowVersionOf(0, 2 ** 38, 0)).toThrow(RangeError)
    expect(() => rowVersionOf(0, 0, 65_536)).toThrow(RangeError)
    expect(() => rowVersionOf(0, -1, 0)).toThrow(RangeError)
  })
})

describe('chunk headers', () => {
  const numbers = fc
    .uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 1 })
    .map(list => list.sort((a, b) => a - b))
  const id = fc.stringMatching(/^[a-z]{3}_[0-9a-f]{24}$/)
  const batch = fc.record({ accountId: id, liveMode: fc.boolean(), batchId: id, recordNumbers: numbers })
  const chunk = fc.record({
    generation: fc.nat(1_023),
    chunkId: fc.stringMatching(/^[0-9a-f]{16}$/),
    batches: fc.array(batch, { maxLength: 4 }),
  })

  const counted = (
    made: Omit<ChunkHeaders, 'batches'> & { readonly batches: readonly ChunkBatch[] },
  ): ChunkHeaders => ({
    ...made,
    batches: made.batches.map(batch => ({ ...batch, recordCount: batch.recordNumbers.length })),
  })

  it('can be read back, with the count of records', () => {
    fc.assert(
      fc.property(chunk, made => {
        expect(fromHeaders(toHeaders(made))).toEqual(counted(made))
      }),
    )
  })

  it('can be read without a count', () => {
    fc.assert(
      fc.property(chunk, made => {
        const { batches = '', ...headers } = toHeaders(made)
        expect(fromHeaders({ ...headers, batches: batches.replace(/:\d+(?=;|$)/g, '') })).toEqual(counted(made))
      }),
    )
  })

  it('write consecutive record numbers as ranges', () => {
    const recordNumbers = [1, 2, 3, 7, 9, 10]
    const made = {
      generation: 1,
      chunkId: 'c',
      batches: [{ accountId: 'a', liveMode: true, batchId: 'b', recordNumbers }],
    }
    expect(toHeaders(made)['batches']).toBe('a:live:b:1-3,7,9-10:6')
  })

  it('throw if missing or malformed', () => {
    for (const headers of [
      {},
      { generation: 'x', chunk: 'c' },
      { generation: '1', chunk: 'c', batches: 'a:live:b:' },
      { generation: '1', chunk: 'c', batches: 'a:live:b:1:x' },
    ])
      expect(() => fromHeaders(headers)).toThrow(RangeError)
  })
})

describe('frame of a stored message', () => {
  const message: fc.Arbitrary<Message> = fc.record({
    key: fc.string({ unit: 'grapheme' }),
    value: fc.uint8Array({ maxLength: 100 }).map(bytes => Buffer.from(bytes)),
    headers: fc
      .dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.string({ unit: 'grapheme' }))
      .map(headers => ({ ...headers })),
  })

  it('can be read back, and has the calculated size', () => {
    fc.assert(
      fc.property(message, fc.nat(), fc.nat(), (made, timestamp, position) => {
        const frame = writeFrame(made, frameSize(made), { timestamp, bytesBefore: position })
        expect(readFrame(frame, 7)).toEqual({ ...made, offset: 7, timestamp })
        expect(readFrameHeader(frame)).toEqual({ timestamp, bytesBefore: position })
      }),
    )
  })
})
