import { maxPartRecords } from '../platform/log/avro/fast-path/record-part.ts'

/** Lets the records of a partition gather behind a chunk that has begun, for as long as the log tells, or until they fill a chunk. */
export type ChunkPace = {
  /** Told when so many more records wait. */
  readonly noteArrived: (records: number) => void
  /** Begin the next chunk; a promise where it may not begin at once. `waiting` counts the records that wait. */
  readonly begin: (waiting: () => number) => Promise<void> | null
}

/** Make the pace of a partition that has had no chunk yet; `gatherMs` is that of the log. */
export const chunkPace = (gatherMs: number): ChunkPace => {
  let lastChunkAt = Number.NEGATIVE_INFINITY
  let missing = 0
  let endWait = (): void => undefined

  const waitForMore = async (ms: number): Promise<void> => {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      endWait = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    lastChunkAt = performance.now()
  }

  return {
    noteArrived: records => {
      missing -= records
      if (missing <= 0) endWait()
    },
    begin: waiting => {
      const now = performance.now()
      const remainingMs = lastChunkAt + gatherMs - now
      missing = remainingMs > 0 ? maxPartRecords - waiting() : 0
      if (missing > 0) return waitForMore(remainingMs)
      lastChunkAt = now
      return null
    },
  }
}
