import type { BillCase } from '../acceptance/bill-cases.ts'
import type { BillInput } from '../bill-oracle/bill-input.ts'
import { decimalText, nanoOf, percentageOf } from '../bill-oracle/fraction.ts'

const percentages = ['rate', 'surcharge_percentage']

/** Write all numbers of a body as decimal texts, but days of the month stay numbers. */
const withTexts = (value: unknown, name = ''): unknown => {
  if (typeof value === 'number')
    return percentages.includes(name) ? decimalText(percentageOf(value), 15) : decimalText(nanoOf(value))
  if (Array.isArray(value)) return name === 'dates' ? value : value.map(member => withTexts(member))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withTexts(member, key)]))
}

/** Write the input of the oracle in the form of an acceptance case. Final statements are left out. */
export const caseOfBill = ({ finals: _, ...bill }: BillInput): BillCase => ({
  ...(withTexts(bill) as Omit<BillCase, 'id' | 'expected'>),
  id: 'generated',
  expected: { complete: true, gaps: [], gross: '', gross_rounded: '', periods: [] },
})
