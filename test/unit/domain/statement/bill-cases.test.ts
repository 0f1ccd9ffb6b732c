import { describe, expect, it } from 'vitest'
import { civilDate } from '../../../../services/domain/civil-date.ts'
import { formatDecimal } from '../../../../services/domain/quantity.ts'
import {
  calculateStatement,
  type Statement,
  type StatementLine,
} from '../../../../services/domain/statement/calculate-statement.ts'
import { type BillCase, billCases, type ExpectedLine } from '../../../support/acceptance/bill-cases.ts'
import { inputOfCase } from '../../../support/acceptance/calculate-case.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'

const cases = billCases()
if (cases === null) console.warn('Skipped: the file of whole-bill cases is not present.')

const decimal = (value: bigint): string => formatDecimal(value, 9)
const instant = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')
const date = (day: number): string => {
  const { year, month, date: dayOfMonth } = civilDate(day)
  return `${year}-${String(month).padStart(2, '0')}-${String(dayOfMonth).padStart(2, '0')}`
}

/** Return the members of a line that a case expects, in its form. */
const shownLine = (line: StatementLine, expected: ExpectedLine | undefined) => {
  const { kind, component, amount, amountRounded, quantity, reason } = line
  const name = kind === 'ENERGY' ? (expected?.name ?? line.name) : line.name
  const shown = { kind, component, name, amount: decimal(amount), amount_rounded: decimal(amountRounded) }
  const demand = reason?.kind === 'DEMAND' ? reason : null
  const measured = {
    bound_by: demand?.boundBy,
    measured_kw: demand === null ? undefined : decimal(demand.measured),
    quantity: quantity === null ? undefined : decimal(quantity),
    peaks: demand?.peaks.map(({ start, power }) => ({ start_time: instant(start), kw: decimal(power) })),
    shares: demand?.peaks[0]?.users.map(user => ({
      device_id: user.deviceId,
      session_reference_id: user.sessionReferenceId,
      share: (user.share / 1e6).toFixed(6),
    })),
  }
  const wanted = Object.entries(measured).filter(([member]) => expected !== undefined && member in expected)
  return { ...shown, ...Object.fromEntries(wanted) }
}

const shownTotals = (totals: Statement['totals']) => ({
  net: decimal(totals.net),
  tax: decimal(totals.tax),
  gross: decimal(totals.gross),
  net_rounded: decimal(totals.netRounded),
  tax_rounded: decimal(totals.taxRounded),
  gross_rounded: decimal(totals.grossRounded),
})

/** Return a statement in the form of the expected one. */
const shownStatement = ({ periods, totals, gaps, isComplete }: Statement, { expected }: BillCase) => ({
  complete: isComplete,
  gaps: gaps.map(({ reason, start, end }) => ({ reason, start_time: instant(start), end_time: instant(end) })),
  periods: periods.map((period, index) => ({
    start_date: date(period.startDay),
    end_date: date(period.endDay),
    lines: period.lines.map((line, number) => shownLine(line, expected.periods[index]?.lines[number])),
    totals: shownTotals(period.totals),
  })),
  gross: decimal(totals.gross),
  gross_rounded: decimal(totals.grossRounded),
})

describe.skipIf(cases === null)('a statement agrees in every member with the case', () => {
  for (const one of cases ?? [])
    it(one.id, () => {
      const statement = acceptedValue(calculateStatement(inputOfCase(one)))
      expect(shownStatement(statement, one)).toEqual(one.expected)
    })

  it('and differs if a record changes', () => {
    const one = (cases ?? []).find(({ id }) => id === 'worked-1') as BillCase
    const records = (one.records ?? []).map((record, index) => (index === 0 ? { ...record, value: '6.301' } : record))
    const statement = acceptedValue(calculateStatement(inputOfCase({ ...one, records })))
    expect(shownStatement(statement, one)).not.toEqual(one.expected)
  })
})
