import type { ChargeTerms } from '../charge/charge.ts'
import { isSpecialDay, specialDaysOf } from '../tariff/special-days.ts'
import type { ScheduleEntry, SpecialDay, TariffDirection, TariffType } from '../tariff/tariff.ts'
import type { OwnedObject } from '../tenant.ts'

/** Local days [startDay, endDay) as day numbers of `civil-date.ts`; null is open. */
export type OpenDays = { readonly startDay: number | null; readonly endDay: number | null }

/** Days that only a calendar knows, as a tariff or charge names them: `Holidays`, `#name`. */
type SpecialDays = { readonly specialDays: readonly SpecialDay[] }

/** Part of a version. Equal keys of a version mean equal prices. */
export type Keyed = { readonly key: string }

/** Tariff of a version. */
export type PlanTariff = SpecialDays &
  Keyed & {
    readonly direction: TariffDirection
    readonly type: TariffType
    readonly marketRates: boolean
  }

/**
 * Charge of a version, with the days of its own. `hasSchedule`: its special days are in a schedule, whose bands must not
 * overlap. The order of windows decides between windows.
 */
export type PlanCharge = SpecialDays & OpenDays & Keyed & { readonly hasSchedule: boolean }

/** List the special days that the windows and the schedule of a charge name, each once. */
export const specialDaysOfCharge = (charge: ChargeTerms): readonly SpecialDay[] => {
  const windows = 'windows' in charge ? charge.windows : []
  const schedule = charge.kind === 'USAGE' ? (charge.schedule ?? []) : []
  return [...new Set([...windows.flatMap(({ days }) => days.filter(isSpecialDay)), ...specialDaysOf(schedule)])]
}

/** Tariff of a plan: prices without a location and without contract dates. */
export type PlanTariffTerms = {
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly displayName: string | null
  readonly providerId: string | null
  readonly component: string
  readonly marketRates: boolean
  readonly schedule: readonly ScheduleEntry[]
}

/** Tariffs and charges of a version. */
export type PlanPrices = { readonly tariffs: readonly PlanTariffTerms[]; readonly charges: readonly ChargeTerms[] }

/** Location to which a version cannot be applied, and why. */
export type PlanFailure = { readonly locationId: string; readonly code: string; readonly message: string }

/** Progress of a plan at its locations. */
export type PlanProgress = {
  readonly sites: number
  readonly applied: number
  readonly failed: readonly PlanFailure[]
}

/** Stored plan. `revision` rises with every change of its versions; `createdAt` in ms. */
export type StoredPlan = OwnedObject & {
  readonly name: string
  readonly currencyCode: string
  readonly revision: number
  readonly lastVersion: number
}

/**
 * Version of a plan without its prices. `startDay` is a day number of `civil-date.ts`, null without a start; `createdAt`
 * in ms.
 */
export type StoredPlanVersion = {
  readonly planId: string
  readonly version: number
  readonly startDay: number | null
  readonly createdAt: number
}

/** Prices of a plan from a local day on; null: without a start. A version ends at the start of the next one. */
export type PlanVersion<Tariff extends Keyed = PlanTariff, Charge extends Keyed & OpenDays = PlanCharge> = {
  readonly version: number
  readonly startDay: number | null
  readonly tariffs: readonly Tariff[]
  readonly charges: readonly Charge[]
}

/** Local days of a location for which a plan applies. */
export type PlanAssignment = OpenDays & { readonly id: string }

/** Origin of a tariff or charge that a plan creates at a location. */
export type DerivedKey = { readonly assignmentId: string; readonly version: number; readonly key: string }

/** Limits of a plan. */
export const planLimits = {
  versions: 100,
  sites: 100_000,
  assignmentsPerRequest: 1_000,
  assignmentsPerSite: 100,
  /** Tariffs of a location that receives a tariff of the plan. */
  tariffsPerSite: 1_000,
  /** One for each direction and type. */
  tariffs: 4,
  charges: 200,
} as const

const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)
const earliest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Return the days that two ranges share; null if there are none. */
export const sharedDays = (a: OpenDays, b: OpenDays): OpenDays | null => {
  const startDay = latest(a.startDay, b.startDay)
  const endDay = earliest(a.endDay, b.endDay)
  return startDay !== null && endDay !== null && endDay <= startDay ? null : { startDay, endDay }
}

/** List the versions in the order of their days, each with its days. Two versions never start on the same day. */
export const versionDays = <Version extends Pick<PlanVersion, 'startDay'>>(
  versions: readonly Version[],
): readonly (Version & OpenDays)[] => {
  const start = ({ startDay }: Version): number => startDay ?? Number.NEGATIVE_INFINITY
  const ordered = [...versions].sort((a, b) => (start(a) < start(b) ? -1 : 1))
  return ordered.map((version, index) => ({ ...version, endDay: ordered[index + 1]?.startDay ?? null }))
}
