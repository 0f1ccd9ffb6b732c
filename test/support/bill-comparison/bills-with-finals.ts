import fc from 'fast-check'
import type { BillInput, FinalStatement, RecordBody } from '../bill-oracle/bill-input.ts'
import { billStatement } from '../bill-oracle/bill-statement.ts'
import { bills, type GeneratedBill } from '../bill-oracle/generate-bill.ts'
import { dayText, readDay } from '../bill-oracle/local-days.ts'

/** Cut the statement of a bill at two of its days: two FINAL statements, each with few records, and a draft. */
const withFinals = (
  bill: GeneratedBill,
  cuts: readonly [number, number],
  known: readonly (readonly RecordBody[])[],
): BillInput => {
  const { start_date, end_date, periods, ...members } = bill.statement
  const [first, end] = [readDay(start_date), readDay(end_date)]
  const kept = Array.isArray(periods) ? {} : { periods }
  const [one = first, other = first] = cuts.map(cut => first + (cut % (end - first))).sort((a, b) => a - b)
  const finals: FinalStatement[] = []
  for (const [index, [from = first, to = first]] of [
    [first, one],
    [one, other],
  ].entries()) {
    if (from === to) continue
    const request = { ...members, ...kept, start_date: dayText(from), end_date: dayText(to) }
    const input = { ...bill, records: known[index] ?? [], finals: [...finals], statement: request }
    finals.push({ id: `stm_${index}`, request, ...billStatement(input) })
  }
  return { ...bill, finals, statement: { ...members, ...kept, start_date: dayText(other), end_date } }
}

/** Bills as the oracle generates them; some follow FINAL statements that lack records. */
export const billsWithFinals: fc.Arbitrary<BillInput> = bills.chain(bill =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(bill) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.nat(), fc.nat(), fc.subarray([...bill.records]), fc.subarray([...bill.records]))
        .map(([one, other, few, more]) => withFinals(bill, [one, other], [few, more])),
    },
  ),
)
