import type { ScheduleEntry, Tariff, TariffVersion } from './tariff.ts'

type TariffPrices = Pick<Tariff, 'contractStart' | 'schedule' | 'versions'>

/** Schedule of a tariff and the instant (ms, inclusive) from which it applies; null: from an open start. */
export type EffectiveSchedule = { readonly effectiveFrom: number | null; readonly schedule: readonly ScheduleEntry[] }

/**
 * List all schedules of a tariff, ascending. The first one applies from the start of the contract.
 * Source: docs/rules/tariffs.md #price-versions.
 */
export const schedulesOf = ({ contractStart, schedule, versions = [] }: TariffPrices): readonly EffectiveSchedule[] => [
  { effectiveFrom: contractStart, schedule },
  ...versions,
]

/** Return the schedule that applies at an instant (ms). Before the contract it is the first one. */
export const scheduleAt = ({ schedule, versions = [] }: TariffPrices, at: number): readonly ScheduleEntry[] =>
  versions.findLast(({ effectiveFrom }) => effectiveFrom <= at)?.schedule ?? schedule

/**
 * Replace the prices of a tariff from an instant (ms). Versions that start at the instant or later are dropped. Earlier
 * prices stay.
 * An instant at or before the start of the contract replaces all prices.
 * Source: docs/rules/tariffs.md #price-versions.
 */
export const withVersion = <T extends TariffPrices>(tariff: T, { effectiveFrom, schedule }: TariffVersion): T => {
  if (tariff.contractStart !== null && effectiveFrom <= tariff.contractStart)
    return { ...tariff, schedule, versions: [] }
  const earlier = (tariff.versions ?? []).filter(version => version.effectiveFrom < effectiveFrom)
  return { ...tariff, versions: [...earlier, { effectiveFrom, schedule }] }
}
