import { mostRecords } from '../platform/log/record-part.ts'

/** Lets the records of a partition gather behind a chunk that has begun, for as long as the log tells, or until they fill a chunk. */
export type ChunkPace = {
  /** Told when so many more records wait. */
  readonly came: (records: number) => void
  /** Begin the next chunk; a promise where it may not begin at once. `waiting` counts the records that wait. */
  readonly begin: (waiting: () => number) => Promise<void> | null
}

/** Make the pace of a partition that has had no chunk yet; `gatherMs` is that of the log. */
export const chunkPace = (gatherMs: number): ChunkPace => {
  let begunAt = Number.NEGATIVE_INFINITY
  let missing = 0
  let goOn = (): void => undefined

  const gathered = async (ms: number): Promise<void> => {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      goOn = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    begunAt = performance.now()
  }

  return {
    came: records => {
      missing -= records
      if (missing <= 0) goOn()
    },
    begin: waiting => {
      const now = performance.now()
      const left = begunAt + gatherMs - now
      missing = left > 0 ? mostRecords - waiting() : 0
      if (missing > 0) return gathered(left)
      begunAt = now
      return null
    },
  }
}
