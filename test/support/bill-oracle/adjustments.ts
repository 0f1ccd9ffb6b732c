import type { BillInput, FinalLine, FinalStatement } from './bill-input.ts'
import { type OpenLine, readRange } from './bill-line.ts'
import { nanoOf } from './fraction.ts'

type Sums = Map<string, bigint>

type BilledPeriods = { readonly periods: FinalStatement['periods'] }

const addLines = (sums: Sums, lines: readonly FinalLine[], sign: bigint): void => {
  for (const { component, tax, amount_rounded } of lines) {
    const key = JSON.stringify([component, tax])
    sums.set(key, (sums.get(key) ?? 0n) + sign * nanoOf(amount_rounded))
  }
}

const linesOf = ({ periods }: BilledPeriods): FinalLine[] => periods.flatMap(({ lines }) => lines)

/**
 * Return what each earlier final statement would be now, less what it was, less the adjustments that are final: a line
 * per component and tax flag, ordered by component. `calculate` answers the request of a final statement anew.
 */
export const adjustmentLines = (
  input: BillInput,
  calculate: (input: BillInput) => BilledPeriods,
): readonly OpenLine[] => {
  const finals = [...(input.finals ?? [])]
  const start = readRange(input.statement).first
  const ended = finals
    .filter(({ request }) => readRange(request).end <= start)
    .sort((a, b) => readRange(a.request).first - readRange(b.request).first)
  return ended.flatMap(final => {
    const sums: Sums = new Map()
    addLines(sums, linesOf(calculate({ ...input, finals: [], statement: final.request })), 1n)
    addLines(
      sums,
      linesOf(final).filter(({ kind }) => kind !== 'ADJUSTMENT'),
      -1n,
    )
    const adjusted = finals
      .flatMap(linesOf)
      .filter(line => line.kind === 'ADJUSTMENT' && line.statement_id === final.id)
    addLines(sums, adjusted, -1n)
    return [...sums]
      .filter(([, amount]) => amount !== 0n)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, amount]): OpenLine => {
        const [component, isTax] = JSON.parse(key) as [string, boolean]
        return {
          kind: 'ADJUSTMENT',
          component,
          name: 'Adjustment',
          direction: null,
          charge: null,
          tariff: null,
          quantity: null,
          unit: null,
          unitPrice: null,
          isTax,
          details: null,
          reason: { statement_id: final.id },
          amountUntil: () => amount,
        }
      })
  })
}
