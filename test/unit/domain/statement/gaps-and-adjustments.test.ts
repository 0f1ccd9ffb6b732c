import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adjustmentLines, type ComparedLine } from '../../../../services/domain/statement/adjustments.ts'
import {
  calculateStatement,
  maxLinesPerPeriod,
  maxVisited,
  type Statement,
} from '../../../../services/domain/statement/calculate-statement.ts'
import { minorUnitOf, roundByLargestRemainder, roundToUnit } from '../../../../services/domain/statement/round-lines.ts'
import { type RequestedPeriods, statementPeriods } from '../../../../services/domain/statement/statement-periods.ts'
import { dayOf } from '../../../support/acceptance/read-charge.ts'
import { billOf, decimal, flat, inputOf, used } from './bill.ts'

const instant = (at: number): string => new Date(at).toISOString().slice(5, 16)
const shownGaps = ({ gaps }: Statement) =>
  gaps.map(({ reason, start, end }) => `${reason} ${instant(start)} ${instant(end)}`)

const statement = { start_date: '2026-06-01', end_date: '2026-06-03' }
const session = { session_reference_id: 's-1', device_id: 'dev_1' }

describe('gaps', () => {
  it('are times without a bought record that has length', () => {
    const records = [
      used('2026-06-01T06:00', '2026-06-01T12:00', '1'),
      used('2026-06-01T10:00', '2026-06-02T00:00', '1'),
      used('2026-06-02T12:00', '2026-06-02T12:00', '1'),
      used('2026-06-02T13:00', '2026-06-04T00:00', '1'),
      used('2026-06-02T00:00', '2026-06-02T13:00', '1', { energy_flow_direction: 'OUTBOUND' }),
    ]
    const bill = billOf({ statement, records, tariffs: [flat('1'), flat('1', { direction: 'EXPORT' })] })
    expect([bill.isComplete, ...shownGaps(bill)]).toEqual([
      false,
      'MISSING 06-01T00:00 06-01T06:00',
      'MISSING 06-02T00:00 06-02T13:00',
    ])
  })

  it('are expected unless all bought records have a session', () => {
    const [own, charged] = [
      used('2026-06-01T10:00', '2026-06-01T12:00', '1'),
      used('2026-06-01T10:00', '2026-06-01T12:00', '1', session),
    ]
    const isComplete = (records: readonly object[], expect?: string) =>
      billOf({ statement: { ...statement, ...(expect === undefined ? {} : { expect }) }, records: records as never })
        .isComplete
    expect([isComplete([]), isComplete([own]), isComplete([charged])]).toEqual([false, false, true])
    expect([isComplete([], 'NOTHING'), isComplete([charged], 'EVERY_INTERVAL')]).toEqual([true, false])
  })

  it('are unpriced records, clipped, and the time after now', () => {
    const tariffs = [flat('1', { contract_start_date: '2026-06-02T00:00:00Z' })]
    const records = [
      used('2026-05-31T22:00', '2026-06-01T10:00', '1'),
      used('2026-06-01T10:00', '2026-06-03T00:00', '1'),
    ]
    const now = Date.UTC(2026, 5, 2, 18)
    expect(shownGaps(billOf({ statement, tariffs, records }, { now }))).toEqual([
      'UNPRICED 06-01T00:00 06-01T10:00',
      'UNPRICED 06-01T10:00 06-03T00:00',
      'NOT_ENDED 06-02T18:00 06-03T00:00',
    ])
    expect(shownGaps(billOf({ statement }, { now }))).toEqual([
      'MISSING 06-01T00:00 06-02T18:00',
      'NOT_ENDED 06-02T18:00 06-03T00:00',
    ])
  })

  it('are at most 100, with the number of further ones', () => {
    const minute = (index: number): string => new Date(Date.UTC(2026, 5, 1, 0, index)).toISOString().slice(0, 16)
    const counts = (count: number) => {
      // A gap before each record of a minute, and one after the last record
      const records = Array.from({ length: count }, (_, index) =>
        used(minute(2 * index + 1), minute(2 * index + 2), '1'),
      )
      const { gaps, moreGaps } = billOf({ statement, records })
      return [gaps.length, moreGaps]
    }
    expect([counts(99), counts(100), counts(400)]).toEqual([
      [100, 0],
      [100, 1],
      [100, 301],
    ])
  })
})

describe('a statement', () => {
  it('has the confidence of its energy', () => {
    const tariffs = [flat('1', { contract_start_date: '2026-06-02T00:00:00Z' })]
    const records = [
      used('2026-06-01T10:00', '2026-06-01T11:00', '1'),
      used('2026-06-02T10:00', '2026-06-02T11:00', '3'),
    ]
    expect([billOf({ tariffs, records }).confidence, billOf({}).confidence]).toEqual([7_500, 10_000])
  })

  it('has at most 500 lines in a period', () => {
    const charges = (count: number) =>
      Array.from({ length: count }, () => ({ kind: 'FIXED', name: 'f', price: '1', per: 'DAY' }))
    const result = (count: number) => calculateStatement(inputOf({ charges: charges(count) }))
    expect(result(maxLinesPerPeriod).ok).toBe(true)
    expect(result(maxLinesPerPeriod + 1)).toMatchObject({ ok: false, refusal: { code: 'too_many_lines' } })
  })

  it('must not visit more records and intervals than a statement may', () => {
    const charges = [{ kind: 'DEMAND', name: 'd', price: '1' }]
    /** Calculate a statement whose work counts some more visits after its first count. */
    const result = (more: number) => {
      const input = inputOf({ charges })
      let [visited, isFirst] = [input.metered.work.visited, true]
      const work = {
        get visited() {
          const counted = isFirst ? visited : visited + more
          isFirst = false
          return counted
        },
        set visited(counted) {
          visited = counted - more
        },
      }
      return calculateStatement({ ...input, metered: { ...input.metered, work } })
    }
    // 30 days of 24 hours
    expect(result(maxVisited - 720).ok).toBe(true)
    expect(result(maxVisited - 719)).toMatchObject({ ok: false, refusal: { code: 'too_many_records' } })
  })
})

describe('adjustments', () => {
  const line = (component: string, amount: bigint, more: Partial<ComparedLine> = {}): ComparedLine => ({
    kind: 'FIXED',
    component,
    isTax: false,
    amountRounded: amount,
    ...more,
  })
  const tax = { kind: 'PERCENTAGE', isTax: true } as const

  it('are what now differs from the final statement and its adjustments', () => {
    const final = {
      statementId: 'stm_1',
      final: [
        line('grid', 5n),
        line('grid', 2n),
        line('tax', 1n, tax),
        line('old', 3n),
        line('x', 9n, { kind: 'ADJUSTMENT' }),
      ],
      current: [line('grid', 10n), line('tax', 2n, tax), line('tax', 4n), line('x', 8n, { kind: 'ADJUSTMENT' })],
      adjusted: [line('grid', 3n, { kind: 'ADJUSTMENT' }), line('old', -1n, { kind: 'ADJUSTMENT' })],
    }
    const lines = adjustmentLines([final], 0)
    expect(lines.map(one => [one.component, one.isTax, one.amountBefore(1), one.reason])).toEqual([
      ['old', false, -2n, { kind: 'ADJUSTMENT', statementId: 'stm_1' }],
      ['tax', false, 4n, { kind: 'ADJUSTMENT', statementId: 'stm_1' }],
      ['tax', true, 1n, { kind: 'ADJUSTMENT', statementId: 'stm_1' }],
    ])
  })

  it('are lines of the first period that no percentage reads', () => {
    const finals = [
      {
        statementId: 'stm_1',
        final: [],
        current: [line('grid', 5_000_000_000n), line('tax', 1_000_000_000n, tax)],
        adjusted: [],
      },
    ]
    const charges = [{ kind: 'PERCENTAGE', name: 'VAT', rate: '0.5' }]
    const { periods, totals } = billOf(
      { charges, statement: { start_date: '2026-06-01', end_date: '2026-08-01' } },
      { finals },
    )
    expect(periods.map(({ lines }) => lines.map(one => [one.kind, decimal(one.amount), one.isTax]))).toEqual([
      [
        ['PERCENTAGE', '0', true],
        ['ADJUSTMENT', '5', false],
        ['ADJUSTMENT', '1', true],
      ],
      [['PERCENTAGE', '0', true]],
    ])
    expect([decimal(totals.net), decimal(totals.tax)]).toEqual(['5', '1'])
  })
})

describe('rounding by largest remainder', () => {
  it('adds up to the sum, rounded halves away from zero, and moves no line by a unit or more', () => {
    const amounts = fc.array(fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }), { maxLength: 40 })
    fc.assert(
      fc.property(amounts, fc.integer({ min: 0, max: 9 }), (list, decimals) => {
        const unit = minorUnitOf(decimals)
        const rounded = roundByLargestRemainder(list, unit)
        const sum = list.reduce((total, amount) => total + amount, 0n)
        expect(rounded.reduce((total, amount) => total + amount, 0n)).toBe(roundToUnit(sum, unit))
        for (const [index, amount] of rounded.entries()) {
          const change = amount - (list[index] as bigint)
          expect(amount % unit).toBe(0n)
          expect(change > -unit && change < unit).toBe(true)
        }
      }),
    )
  })
})

describe('periods', () => {
  const range = { startDay: dayOf('2026-01-15'), endDay: dayOf('2026-03-10') }
  const read = (requested: RequestedPeriods, of = range) => {
    const result = statementPeriods(of, requested)
    return result.ok
      ? result.value.map(one => [one.startDay - of.startDay, one.endDay - of.startDay])
      : result.refusal.code
  }

  it('are calendar months, all days, or those that are given', () => {
    expect(read('MONTH')).toEqual([
      [0, 17],
      [17, 45],
      [45, 54],
    ])
    expect(read('ONE')).toEqual([[0, 54]])
    const given = [
      { startDay: range.startDay, endDay: range.startDay + 9 },
      { startDay: range.startDay + 9, endDay: range.endDay },
    ]
    expect(read(given)).toEqual([
      [0, 9],
      [9, 54],
    ])
  })

  it('are refused if they are empty, too long, too many or not contiguous', () => {
    const days = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ startDay: index, endDay: index + 1 }))
    expect(read('ONE', { startDay: 5, endDay: 5 })).toBe('end_before_start')
    const years = { startDay: dayOf('2024-02-29'), endDay: dayOf('2027-02-28') }
    expect(read('ONE', years)).toEqual([[0, 1095]])
    expect(read('ONE', { ...years, endDay: years.endDay + 1 })).toBe('interval_too_long')
    expect(read(days(36), { startDay: 0, endDay: 36 })).toHaveLength(36)
    expect(read(days(37), { startDay: 0, endDay: 37 })).toBe('value_out_of_range')
    expect(read([], { startDay: 0, endDay: 2 })).toBe('periods_not_contiguous')
    expect(read(days(2), { startDay: 0, endDay: 3 })).toBe('periods_not_contiguous')
    expect(read(days(2).slice(1), { startDay: 0, endDay: 2 })).toBe('periods_not_contiguous')
    expect(read([{ startDay: 0, endDay: 0 }], { startDay: 0, endDay: 2 })).toBe('end_before_start')
  })
})
