import type { Tenant } from '../../domain/tenant.ts'
import type { Headers } from './log.ts'

/**
 * Contents of a message's headers, readable without a schema: topic generation, chunk id and, per batch, the numbers of
 * its records in ascending order. Receipts stay correct even if the chunk cannot be decoded.
 */
export type ChunkHeaders = {
  readonly generation: number
  readonly chunkId: string
  readonly batches: readonly CountedBatch[]
}
export type ChunkBatch = Tenant & {
  readonly batchId: string
  readonly recordNumbers: readonly number[]
}
/** A batch as read from headers. `recordCount` is known; `recordNumbers` is calculated at each access. */
export type CountedBatch = ChunkBatch & { readonly recordCount: number }

/** Write chunk headers as texts. Record numbers are written as ranges `first-last`, followed by their count. */
export const toHeaders = ({
  generation,
  chunkId,
  batches,
}: Omit<ChunkHeaders, 'batches'> & { readonly batches: readonly ChunkBatch[] }): Headers => ({
  generation: String(generation),
  chunk: chunkId,
  batches: batches.map(batchText).join(';'),
})

const batchText = ({ accountId, liveMode, batchId, recordNumbers }: ChunkBatch): string =>
  `${accountId}:${liveMode ? 'live' : 'test'}:${batchId}:${runsOf(recordNumbers)}:${recordNumbers.length}`

/** Read chunk headers, with or without counts. Throws a RangeError if they are missing or malformed. */
export const fromHeaders = (headers: Headers): ChunkHeaders => {
  const { generation = '', chunk = '', batches = '' } = headers
  if (!/^\d{1,4}$/.test(generation) || chunk === '') throw new RangeError('The message has no chunk headers.')
  return {
    generation: Number(generation),
    chunkId: chunk,
    batches: batches === '' ? [] : batches.split(';').map(batchOf),
  }
}

const batchPattern = /^([^:]*):(live|test):([^:]*):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)(?::(\d+))?$/

const batchOf = (text: string): CountedBatch => {
  const [, accountId = '', mode, batchId = '', runs = '', count] = batchPattern.exec(text) ?? []
  if (mode === undefined) throw new RangeError('A batch in the headers is malformed.')
  return {
    accountId,
    liveMode: mode === 'live',
    batchId,
    recordCount: count === undefined ? numbersOf(runs).length : Number(count),
    get recordNumbers() {
      return numbersOf(runs)
    },
  }
}

const numbersOf = (runs: string): readonly number[] =>
  runs.split(',').flatMap(run => {
    const [first = 0, last = first] = run.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })

const runsOf = (numbers: readonly number[]): string => {
  let runs = ''
  for (let from = 0, to = 0; from < numbers.length; from = to) {
    const first = numbers[from] as number
    for (to = from + 1; numbers[to] === first + to - from; ) to += 1
    if (from > 0) runs += ','
    runs += to === from + 1 ? first : `${first}-${first + to - from - 1}`
  }
  return runs
}
