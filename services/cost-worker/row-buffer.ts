import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'

/** What a step has costed and not stored yet: rows until their pieces are too many to be held, then these are stored before it goes on. */
export type RowBuffer = {
  /** Hold a row; true once what is held should be stored before more comes. */
  readonly add: (row: MeterCostRow) => boolean
  /** Store what is held, and let go of it. Rows of one step may be stored in any number of parts: a repeat writes the same ones. */
  readonly store: () => Promise<void>
  /**
   * Take rows as they are costed, storing them part by part; at a null others run if the turn is over. Gives why it ended where costing threw, else null; then what came of it is let
   * go, but for what is stored already: that stands until its cause is repeated.
   */
  readonly addAll: (rows: Iterable<MeterCostRow | null>) => Promise<string | null>
  readonly rows: () => readonly MeterCostRow[]
  /** How many were added, stored or not. */
  readonly totals: () => { readonly rows: number; readonly pieces: number }
}

/** A year of quarter hours has 35,000 pieces; each takes about a hundred bytes here, and as many on its way to the store. */
export const maxBufferedPieces = 200_000

const countPieces = ({ packed, pieces }: MeterCostRow): number => packed?.count ?? pieces.length

/** Make an empty hold; `store` resolves once the rows are stored to last. */
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

  /** Let go of all rows but the first `count` of the step. */
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
      // A store that is away is no fault of the rows: it ends the step.
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
