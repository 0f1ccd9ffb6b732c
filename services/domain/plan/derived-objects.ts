import { startOfDayNumber, type TimeZone } from '../civil-time.ts'
import {
  type DerivedKey,
  type Keyed,
  type OpenDays,
  type PlanAssignment,
  type PlanCharge,
  type PlanTariff,
  type PlanVersion,
  sharedDays,
} from './plan.ts'

/** Tariff that a plan requires at a location. Contract dates are instants (ms); null is open. */
export type DerivedTariff<Tariff = PlanTariff> = DerivedKey & {
  readonly tariff: Tariff
  readonly contractStart: number | null
  readonly contractEnd: number | null
}

/** Charge that a plan requires at a location. */
export type DerivedCharge<Charge = PlanCharge> = DerivedKey & OpenDays & { readonly charge: Charge }

const midnightOf = (zone: TimeZone, day: number | null): number | null =>
  day === null ? null : startOfDayNumber(zone, day)

/**
 * List the tariffs of an assignment: one for each tariff of each version that applies in its days. A contract starts and
 * ends at local midnight. Days that a clock change skips give no tariff.
 * Source: docs/rules/plans.md #derived-tariffs-and-charges.
 */
export const derivedTariffs = <Tariff extends Keyed>(
  versions: readonly (Pick<PlanVersion<Tariff>, 'version' | 'tariffs'> & OpenDays)[],
  assignment: PlanAssignment,
  zone: TimeZone,
): readonly DerivedTariff<Tariff>[] =>
  versions.flatMap(version => {
    const days = sharedDays(version, assignment)
    if (days === null) return []
    const contractStart = midnightOf(zone, days.startDay)
    const contractEnd = midnightOf(zone, days.endDay)
    if (contractStart !== null && contractStart === contractEnd) return []
    return version.tariffs.map(tariff => ({
      assignmentId: assignment.id,
      version: version.version,
      key: tariff.key,
      tariff,
      contractStart,
      contractEnd,
    }))
  })

/**
 * List the charges of an assignment: one for each charge of each version, for the days that the assignment, the version
 * and the charge share.
 * Source: docs/rules/plans.md #derived-tariffs-and-charges.
 */
export const derivedCharges = <Charge extends Keyed & OpenDays>(
  versions: readonly (Pick<PlanVersion<Keyed, Charge>, 'version' | 'charges'> & OpenDays)[],
  assignment: PlanAssignment,
): readonly DerivedCharge<Charge>[] =>
  versions.flatMap(version => {
    const days = sharedDays(version, assignment)
    if (days === null) return []
    return version.charges.flatMap(charge => {
      const paid = sharedDays(days, charge)
      return paid === null
        ? []
        : [{ assignmentId: assignment.id, version: version.version, key: charge.key, charge, ...paid }]
    })
  })

/** Changes that make the stored objects of a plan equal to the required ones. */
export type DerivedChanges<Required, Stored> = {
  readonly created: readonly Required[]
  /** Stored objects whose dates change. */
  readonly moved: readonly { readonly before: Stored; readonly after: Required }[]
  readonly removed: readonly Stored[]
}

/** Text of the origin of a derived object. */
export const derivedKeyText = ({ assignmentId, version, key }: DerivedKey): string =>
  `${assignmentId} ${version} ${key}`

/**
 * Compare the required objects with the stored ones. A stored object with the origin of a required one stays, with the
 * dates of the required one. `isSame`: both have the same dates.
 */
export const compareDerived = <Required extends DerivedKey, Stored extends DerivedKey>(
  required: readonly Required[],
  stored: readonly Stored[],
  isSame: (required: Required, stored: Stored) => boolean,
): DerivedChanges<Required, Stored> => {
  const byKey = new Map(stored.map(one => [derivedKeyText(one), one]))
  const created: Required[] = []
  const moved: { before: Stored; after: Required }[] = []
  for (const one of required) {
    const before = byKey.get(derivedKeyText(one))
    byKey.delete(derivedKeyText(one))
    if (before === undefined) created.push(one)
    else if (!isSame(one, before)) moved.push({ before, after: one })
  }
  return { created, moved, removed: [...byKey.values()] }
}
