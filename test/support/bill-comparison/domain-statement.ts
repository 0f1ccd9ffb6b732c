import type { FinalStatement as DomainFinal } from '../../../services/domain/statement/adjustments.ts'
import { calculateStatement, type Statement } from '../../../services/domain/statement/calculate-statement.ts'
import type { PricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { inputOfCase } from '../acceptance/calculate-case.ts'
import { acceptedValue } from '../accepted-value.ts'
import type { BillInput, FinalLine, FinalStatement } from '../bill-oracle/bill-input.ts'
import { nanoOf } from '../bill-oracle/fraction.ts'
import { readDay } from '../bill-oracle/local-days.ts'
import { caseOfBill } from './case-of-bill.ts'

type Compared = DomainFinal['final'][number]

const comparedLine = ({ kind, component, tax, amount_rounded }: FinalLine): Compared => ({
  kind: kind as Compared['kind'],
  component,
  isTax: tax,
  amountRounded: nanoOf(amount_rounded),
})

const linesOf = ({ periods }: FinalStatement): readonly FinalLine[] => periods.flatMap(({ lines }) => lines)

/** Return the FINAL statements that end before a statement, by start, with what they would be now. */
const finalsOf = (bill: BillInput, pool: PricingPool): readonly DomainFinal[] => {
  const finals = bill.finals ?? []
  return finals
    .filter(({ request }) => readDay(request.end_date) <= readDay(bill.statement.start_date))
    .toSorted((a, b) => readDay(a.request.start_date) - readDay(b.request.start_date))
    .map(final => ({
      statementId: final.id,
      final: linesOf(final).map(comparedLine),
      current: domainStatement({ ...bill, finals: [], statement: final.request }, pool).periods.flatMap(
        ({ lines }) => lines,
      ),
      adjusted: finals
        .flatMap(linesOf)
        .filter(line => line.kind === 'ADJUSTMENT' && line.statement_id === final.id)
        .map(comparedLine),
    }))
}

/** Calculate the input of the oracle with the domain. Records are priced by the evaluator. */
export const domainStatement = (bill: BillInput, pool: PricingPool): Statement => {
  const input = { ...inputOfCase(caseOfBill(bill), pool), finals: finalsOf(bill, pool) }
  return acceptedValue(calculateStatement(input))
}
