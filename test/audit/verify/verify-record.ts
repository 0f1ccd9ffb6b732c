import { units } from '../../support/ledger/exact-decimal.ts'
import type { StoredRecord } from '../../support/ledger/read-back.ts'
import type { OracleCost } from '../../support/oracle/cost.ts'
import { fractionText, isConfidence } from '../../support/oracle/exact.ts'

/** First difference between a stored record and its expected values. */
export type Deviation = { readonly kind: 'energy' | 'cost'; readonly expected: string; readonly found: string }

const energyDecimals = 6
const moneyDecimals = 9

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one))

const deviation = (kind: Deviation['kind'], name: string, expected: unknown, found: unknown): Deviation | null => {
  const [expectedText, foundText] = [textOf(expected), textOf(found)]
  return expectedText === foundText
    ? null
    : { kind, expected: `${name} ${expectedText}`, found: `${name} ${foundText}` }
}

const energyDeviation = ({ energy, record }: OracleCost, stored: StoredRecord): Deviation | null => {
  const found = [stored.data.energy.value, stored.energy_submitted].map(text => units(text, energyDecimals))
  return (
    deviation('energy', 'energy and energy submitted in 1e-6 Wh', [energy, record.energy], found) ??
    deviation('energy', 'confidence in 1e-6', record.confidence, Number(units(stored.confidence, energyDecimals)))
  )
}

const piecesDeviation = (expected: OracleCost, stored: StoredRecord): Deviation | null => {
  const expectedPieces = (expected.priced?.pieces ?? []).map(
    ({ start, end, energy, price, tiers, cost, confidence }) => [
      ...[new Date(start).toISOString(), new Date(end).toISOString(), energy, price, tiers[0], cost, confidence],
    ],
  )
  const found = stored.pieces.map(piece => [
    ...[piece.start_time, piece.end_time].map(text => new Date(text).toISOString()),
    units(piece.energy, energyDecimals),
    ...[piece.price, piece.tier, piece.cost].map(text => units(text, moneyDecimals)),
    Number(piece.confidence),
  ])
  const firstDifferent = expectedPieces.findIndex((piece, index) => textOf(piece) !== textOf(found[index]))
  const at = firstDifferent === -1 ? expectedPieces.length : firstDifferent
  const counts = [expectedPieces, found].map(({ length }) => `of ${length}`)
  return deviation('cost', `piece ${at + 1}`, [counts[0], expectedPieces[at] ?? null], [counts[1], found[at] ?? null])
}

/** Compare a stored record with its exact cost. Returns null if they are equal. */
export const deviationOf = (expected: OracleCost, stored: StoredRecord): Deviation | null => {
  const { priced } = expected
  const { value, confidence } = stored.data.tariff.cost
  const tariffs = new Set((priced?.pieces ?? []).flatMap(piece => piece.tariffs).filter(id => id !== null))
  const isConfidenceCorrect = priced === null || isConfidence(Number(confidence), priced.confidence)
  return (
    energyDeviation(expected, stored) ??
    deviation('cost', 'status', priced === null ? 'UNPRICED' : 'PRICED', stored.status) ??
    deviation('cost', 'cost in 1e-9', priced?.cost ?? null, value === null ? null : units(value, moneyDecimals)) ??
    piecesDeviation(expected, stored) ??
    (priced === null ? null : deviation('cost', 'tariffs', [...tariffs].sort(), [...stored.tariff_ids].sort())) ??
    deviation('cost', 'confidence', isConfidenceCorrect ? confidence : fractionText(priced.confidence), confidence)
  )
}
