import { describe, expect, it } from 'vitest'
import { periodsOf } from '../../../../../services/platform/clickhouse/exports/record-periods.ts'

const month = (index: number): number => Date.UTC(2025, index, 1)
const selection = {
  locationIds: null,
  deviceIds: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: null,
  from: month(0) + 5,
  to: month(4) + 5,
}
const boundsOf = (months: readonly number[], ids = 0) =>
  periodsOf({ ...selection, locationIds: ids === 0 ? null : Array.from({ length: ids }, String) }, months).map(
    ({ from, to }) => [from, to],
  )

describe('the periods of a table', () => {
  it('begin at the starts of its months, and cover the whole selection', () => {
    expect(boundsOf([])).toEqual([[month(0) + 5, month(4) + 5]])
    expect(boundsOf([month(0)])).toEqual([[month(0) + 5, month(4) + 5]])
    // No row was in February when the months were read: the period of January includes it.
    expect(boundsOf([month(0), month(2), month(4)])).toEqual([
      [month(0) + 5, month(2)],
      [month(2), month(4)],
      [month(4), month(4) + 5],
    ])
  })

  it('are open where the selection is open', () => {
    const open = periodsOf({ ...selection, from: null, to: null }, [month(0), month(1)])
    expect(open.map(({ from, to }) => [from, to])).toEqual([
      [null, month(1)],
      [month(1), null],
    ])
  })

  it('are at most 120, and fewer with many ids, because each repeats them', () => {
    const months = Array.from({ length: 121 }, (_, index) => month(index))
    const far = { ...selection, to: month(121) }
    expect(periodsOf(far, months.slice(0, 120))).toHaveLength(120)
    expect(periodsOf(far, months)).toHaveLength(61)
    const three = [month(0), month(1), month(2)]
    expect([1_666, 1_667, 2_500, 2_501].map(ids => boundsOf(three, ids).length)).toEqual([3, 2, 2, 1])
  })
})
