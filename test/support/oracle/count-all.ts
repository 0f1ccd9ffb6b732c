import { costRecord } from '../../../services/domain/cost/cost-record.ts'
import type { CrossingEnergy } from '../../../services/domain/price/tier-step.ts'
import { accumulatorKey } from '../../../services/domain/tariff/accumulator.ts'
import type { CountedEnergy } from '../../../services/domain/tariff/evaluate.ts'
import type { PricingSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import type { IdentifiedRecord } from './cost.ts'

/** The records of a location, and the tariff direction that counts. */
export type CountInput = {
  readonly snapshot: PricingSnapshot
  readonly direction: TariffDirection
  readonly records: readonly IdentifiedRecord[]
}

/** Return the energy that each record adds to each accumulator, and the start of its counting. */
export const energyGains = ({ snapshot, records, direction }: CountInput): readonly CrossingEnergy[] =>
  records
    .filter(one => one.record.tariffDirection === direction)
    .flatMap(({ record: of }) =>
      costRecord(snapshot, of).accumulatorChanges.map(({ type, countingStart, before, after }) => ({
        key: accumulatorKey(type, direction, countingStart),
        at: Math.max(of.start, countingStart),
        energy: after - before,
      })),
    )

/** Count without any optimization: one step at each instant at which a record counts. */
export const countAll = (of: CountInput): CountedEnergy => {
  const gains = energyGains(of)
  return (type, direction, countingStart) => {
    const own = gains.filter(({ key }) => key === accumulatorKey(type, direction, countingStart))
    const instants = [...new Set(own.map(gain => gain.at))].sort((a, b) => a - b)
    return instants.map(from => ({
      from,
      counted: own.filter(gain => gain.at <= from).reduce((sum, gain) => sum + gain.energy, 0n),
    }))
  }
}
