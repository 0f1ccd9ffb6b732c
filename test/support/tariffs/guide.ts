import { costRecord, type RecordCost } from '../../../services/domain/cost/cost-record.ts'
import type { Energy } from '../../../services/domain/quantity.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { PricingInput } from '../../../services/domain/tariff/tariff.ts'
import { decimal } from '../ledger/exact-decimal.ts'
import { kwh, record } from '../oracle/tables.ts'
import { countChanges } from './count-changes.ts'

/** Start, end and energy (kWh) of a record of bought energy. */
export type Reading = readonly [start: string, end: string, kwh: number]

/** Cost records of a location in sequence. Each record starts with the tier counts after the record before. */
export const priced = (home: PricingInput, ...readings: readonly Reading[]): RecordCost[] => {
  const snapshot = compileSnapshot(home, createPricingPool())
  const counted = new Map<number, Energy>()
  return readings.map(([start, end, energy], index) => {
    const cost = costRecord(snapshot, record(`record ${index}`, start, end, kwh(energy)).record, counted)
    countChanges(counted, cost.accumulatorChanges)
    return cost
  })
}

/** Return the calculation of each piece as a text. */
export const lines = (costs: readonly RecordCost[]): string[] =>
  costs.flatMap(({ pieces }) =>
    pieces.map(piece => `${decimal(piece.energy, 9)} kWh × ${decimal(piece.price, 9)} = ${decimal(piece.cost, 9)}`),
  )

/** Return the cost of each record in major units; null without a price. */
export const totals = (costs: readonly RecordCost[]): (string | null)[] =>
  costs.map(({ cost }) => (cost === null ? null : decimal(cost, 9)))
