import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'

/**
 * Rows of a step that are not stored. When their cost pieces are too many for the memory, the step stores them and
 * continues.
 */
export type RowBuffer = {
  /** Add a row. Returns true if the buffered rows should be stored before the next row. */
  readonly add: (row: MeterCostRow) => boolean
  /**
   * Store the buffered rows and remove them. A step can store its rows in any number of parts: a repeat writes the same
   * rows.
   */
  readonly store: () => Promise<void>
  /**
   * Add rows as they are costed, and store them in parts. At a null, other work can run.
   * Returns the error text if costing throws, else null. After an error, the rows of this call are removed, except for
   * stored rows: those stay until their trigger is repeated.
   */
  readonly addAll: (rows: Iterable<MeterCostRow | null>) => Promise<string | null>
  readonly rows: () => readonly MeterCostRow[]
  /** Number of rows and cost pieces that were added, stored or not. */
  readonly totals: () => { readonly rows: number; readonly pieces: number }
}

/** A year of quarter hours has 35,000 pieces. Each takes about 100 bytes here, and 100 bytes during the insert. */
export const maxBufferedPieces = 200_000

const countPieces = ({ packed, pieces }: MeterCostRow): number => packed?.count ?? pieces.length

/** Create an empty buffer. `store` resolves when the rows are durable. */
export const rowBuffer = (
  store: (rows: readonly MeterCostRow[]) => Promise<void>,
  maxPieces = maxBufferedPieces,
): RowBuffer => {
  let rows: MeterCostRow[] = []
  let [bufferedPieces, totalPieces, storedRows] = [0, 0, 0]

  const add = (row: MeterCostRow): boolean => {
    rows.push(row)
    bufferedPieces += countPieces(row)
    totalPieces += countPieces(row)
    return bufferedPieces >= maxPieces
  }

  const storeBuffered = async (): Promise<void> => {
    const batch = rows
    if (batch.length === 0) return
    rows = []
    bufferedPieces = 0
    storedRows += batch.length
    await store(batch)
  }

  /** Remove all rows but the first `count` of the step. */
  const truncate = (count: number): void => {
    rows.length = Math.max(0, count - storedRows)
    bufferedPieces = rows.reduce((sum, row) => sum + countPieces(row), 0)
  }

  const addAll = async (costed: Iterable<MeterCostRow | null>): Promise<string | null> => {
    const countBefore = storedRows + rows.length
    const timeSlice = startTimeSlices()
    const iterator = costed[Symbol.iterator]()
    for (;;) {
      let next: IteratorResult<MeterCostRow | null>
      try {
        next = iterator.next()
      } catch (error) {
        truncate(countBefore)
        return String(error)
      }
      if (next.done === true) return null
      // An error of the store does not come from the rows, so it ends the step.
      if (next.value !== null && add(next.value)) await storeBuffered()
      if (timeSlice.isOver()) await timeSlice.pause()
    }
  }

  return {
    add,
    store: storeBuffered,
    addAll,
    rows: () => rows,
    totals: () => ({ rows: storedRows + rows.length, pieces: totalPieces }),
  }
}
