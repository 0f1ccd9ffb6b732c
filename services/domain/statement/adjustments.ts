import type { Money } from '../quantity.ts'
import type { DraftLine, LineTerms } from './statement-line.ts'

/** Line of a FINAL statement or of its calculation now, as an adjustment compares them. */
export type ComparedLine = Pick<LineTerms, 'kind' | 'component' | 'isTax'> & { readonly amountRounded: Money }

/** Sum of the lines of a component and tax flag, or of the adjustments of a statement (`statementId`). */
export type LineSum = ComparedLine & { readonly statementId: string | null }

/**
 * FINAL statement that ends at or before the start of a draft. `current`: lines of the same request now. `adjusted`:
 * ADJUSTMENT lines of other FINAL statements for this statement.
 */
export type FinalStatement = {
  readonly statementId: string
  readonly final: readonly ComparedLine[]
  readonly current: readonly ComparedLine[]
  readonly adjusted: readonly ComparedLine[]
}

type Difference = { readonly component: string; readonly isTax: boolean; amount: Money }

const compareDifferences = (a: Difference, b: Difference): number =>
  a.component === b.component ? Number(a.isTax) - Number(b.isTax) : a.component < b.component ? -1 : 1

/**
 * Return the lines that adjust FINAL statements, per component and tax flag that differs: now − final − adjusted, in
 * rounded amounts. The lines are in the order of the statements, then by component.
 * ADJUSTMENT lines within the compared statements belong to other statements and do not count.
 * Law: final + adjusted + the returned lines = now, per component and tax flag.
 */
export const adjustmentLines = (finals: readonly FinalStatement[], startDay: number): readonly DraftLine[] =>
  finals.flatMap(({ statementId, final, current, adjusted }) => {
    const differences = new Map<string, Difference>()
    const add = ({ component, isTax, amountRounded }: ComparedLine, sign: bigint): void => {
      const key = `${isTax} ${component}`
      const known = differences.get(key) ?? { component, isTax, amount: 0n }
      differences.set(key, known)
      known.amount += sign * amountRounded
    }
    for (const line of final) if (line.kind !== 'ADJUSTMENT') add(line, -1n)
    for (const line of current) if (line.kind !== 'ADJUSTMENT') add(line, 1n)
    for (const line of adjusted) add(line, -1n)
    return [...differences.values()]
      .filter(({ amount }) => amount !== 0n)
      .sort(compareDifferences)
      .map(
        ({ component, isTax, amount }): DraftLine => ({
          kind: 'ADJUSTMENT',
          component,
          name: 'Adjustment',
          isTax,
          direction: null,
          chargeId: null,
          tariffId: null,
          planId: null,
          quantity: null,
          unit: null,
          unitPrice: null,
          reason: { kind: 'ADJUSTMENT', statementId },
          prices: null,
          morePrices: 0,
          amountBefore: day => (day > startDay ? amount : 0n),
        }),
      )
  })
