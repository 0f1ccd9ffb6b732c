import { formatDecimal } from '../../../../services/domain/quantity.ts'
import {
  calculateStatement,
  type Statement,
  type StatementInput,
  type StatementLine,
} from '../../../../services/domain/statement/calculate-statement.ts'
import type { BillCase, BillTariff } from '../../../support/acceptance/bill-cases.ts'
import { inputOfCase } from '../../../support/acceptance/calculate-case.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'

/** Create a tariff with one price per kWh. */
export const flat = (price: string, more: Partial<BillTariff> = {}): BillTariff => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: [
    { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: price }] }] }] },
  ],
  ...more,
})

/** Create a record of energy in kWh. The times are UTC, without seconds. */
export const used = (start: string, end: string, value: string, more = {}) => ({
  start_time: `${start}:00Z`,
  end_time: `${end}:00Z`,
  value,
  ...more,
})

/** Create the input of a statement of June 2026 in UTC at a price of 0, with other members if given. */
export const inputOf = (members: Partial<BillCase>, more: Partial<StatementInput> = {}): StatementInput => ({
  ...inputOfCase({
    id: 'own',
    location: { timezone: 'UTC', currency_code: 'EUR' },
    tariffs: [flat('0')],
    charges: [],
    statement: { start_date: '2026-06-01', end_date: '2026-07-01' },
    expected: { complete: true, gaps: [], gross: '', gross_rounded: '', periods: [] },
    ...members,
  }),
  ...more,
})

export const statementOf = (input: StatementInput): Statement => acceptedValue(calculateStatement(input))

/** Calculate a statement of `inputOf`. */
export const billOf = (members: Partial<BillCase>, more: Partial<StatementInput> = {}): Statement =>
  statementOf(inputOf(members, more))

/** Write an integer of 1e-9 as a decimal. */
export const decimal = (value: bigint | null): string | null => (value === null ? null : formatDecimal(value, 9))

/** Show lines as [name, quantity, amount, rounded amount]. */
export const shown = (lines: readonly StatementLine[]) =>
  lines.map(({ name, quantity, amount, amountRounded }) => [name, ...[quantity, amount, amountRounded].map(decimal)])

/** Show the lines of the first period, without those of energy. */
export const chargeLines = ({ periods }: Statement) =>
  shown((periods[0]?.lines ?? []).filter(({ kind }) => kind !== 'ENERGY'))
