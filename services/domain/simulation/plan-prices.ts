import type { ChargeTerms } from '../charge/charge.ts'
import type { DayRange } from '../charge/charge-days.ts'
import type { TimeZone } from '../civil-time.ts'
import { derivedCharges, derivedTariffs } from '../plan/derived-objects.ts'
import { type PlanVersion, sharedDays, versionDays } from '../plan/plan.ts'
import type { Tariff } from '../tariff/tariff.ts'

/** Tariff of a plan, with the component of its line of energy. */
type SimulatedPlanTariff = Pick<Tariff, 'direction' | 'type' | 'marketRates' | 'schedule'> & {
  readonly component: string
}

/** Version of a plan: its prices from a local day on; null: without a start. */
export type SimulatedPlanVersion = Pick<PlanVersion, 'version' | 'startDay'> & {
  readonly tariffs: readonly SimulatedPlanTariff[]
  readonly charges: readonly ChargeTerms[]
}

/** Plan of candidates, with all its versions. */
export type SimulatedPlan = {
  readonly id: string
  readonly currencyCode: string
  readonly versions: readonly SimulatedPlanVersion[]
}

/** Tariff of a plan at a location. */
type TariffOfPlan = Tariff & { readonly component: string }

/**
 * List the tariffs that a location has if the plan is assigned to it for all days, in the order of their creation. Each
 * id names the plan, the version and the place of the tariff.
 * Source: docs/rules/plans.md #derived-tariffs-and-charges.
 */
export const tariffsOfPlan = ({ id: planId, versions }: SimulatedPlan, zone: TimeZone): readonly TariffOfPlan[] => {
  const keyed = versionDays(versions).map(({ version, startDay, endDay, tariffs }) => ({
    version,
    startDay,
    endDay,
    tariffs: tariffs.map((tariff, place) => ({ key: `${planId} ${version} ${place}`, tariff })),
  }))
  const assignment = { id: planId, startDay: null, endDay: null }
  return derivedTariffs(keyed, assignment, zone).map(({ key, tariff: { tariff }, contractStart, contractEnd }) => ({
    ...tariff,
    id: key,
    contractStart,
    contractEnd,
    closedAt: null,
  }))
}

/**
 * List the charges that a location has on some days if the plan is assigned to it for all days, in the order of their
 * creation.
 * Source: docs/rules/plans.md #derived-tariffs-and-charges.
 */
export const chargesOfPlan = ({ id: planId, versions }: SimulatedPlan, range: DayRange): readonly ChargeTerms[] => {
  const keyed = versionDays(versions).map(({ version, startDay, endDay, charges }) => ({
    version,
    startDay,
    endDay,
    charges: charges.map((charge, place) => ({ ...charge, key: `${planId} ${version} ${place}` })),
  }))
  const assignment = { id: planId, startDay: null, endDay: null }
  return derivedCharges(keyed, assignment)
    .filter(days => sharedDays(days, range) !== null)
    .map(({ charge: { key: _, ...terms }, startDay, endDay }) => ({ ...terms, startDay, endDay }))
}
