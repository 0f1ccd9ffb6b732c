import type { Headers } from './log.ts'

/**
 * What a message's headers tell without its schema, so that receipts stay true even for a chunk that cannot be decoded:
 * the lane's generation, the chunk's id, and per batch the numbers of the records it holds, ascending.
 */
export type ChunkHeaders = { readonly generation: number; readonly chunkId: string; readonly batches: readonly ChunkBatch[] }
export type ChunkBatch = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly batchId: string
  readonly recordNumbers: readonly number[]
}

/** Write chunk headers as texts; runs of record numbers as `first-last`. */
export const toHeaders = (chunk: ChunkHeaders): Headers => ({
  generation: String(chunk.generation),
  chunk: chunk.chunkId,
  batches: chunk.batches
    .map(batch => `${batch.accountId}:${batch.liveMode ? 'live' : 'test'}:${batch.batchId}:${runsOf(batch.recordNumbers)}`)
    .join(';'),
})

/** Read chunk headers. Throws a RangeError where they are missing or malformed. */
export const fromHeaders = (headers: Headers): ChunkHeaders => {
  const { generation = '', chunk = '', batches = '' } = headers
  if (!/^\d{1,4}$/.test(generation) || chunk === '') throw new RangeError('the message has no chunk headers')
  return { generation: Number(generation), chunkId: chunk, batches: batches === '' ? [] : batches.split(';').map(batchOf) }
}

const batchOf = (text: string): ChunkBatch => {
  const [accountId = '', mode = '', batchId = '', runs = ''] = text.split(':')
  if (!/^(live|test)$/.test(mode) || !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(runs)) throw new RangeError('a batch in the headers is malformed')
  const recordNumbers = runs.split(',').flatMap(run => {
    const [first = 0, last = first] = run.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
  return { accountId, liveMode: mode === 'live', batchId, recordNumbers }
}

const runsOf = (numbers: readonly number[]): string => {
  const runs: { first: number; last: number }[] = []
  for (const number of numbers) {
    const run = runs.at(-1)
    if (run !== undefined && run.last + 1 === number) run.last = number
    else runs.push({ first: number, last: number })
  }
  return runs.map(run => (run.first === run.last ? `${run.first}` : `${run.first}-${run.last}`)).join(',')
}
