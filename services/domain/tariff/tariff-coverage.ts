import type { ScheduleEntry, Tariff, TariffDirection, TariffType } from './tariff.ts'

/**
 * A half-open interval in which one schedule of one tariff is in force, or none (both null). Confidence in 1e-4: 10000 under contract, less
 * after it. Since `since` the tariff and its confidence have not changed.
 */
export type Coverage = {
  readonly start: number
  readonly end: number
  readonly tariff: Tariff | null
  readonly schedule: readonly ScheduleEntry[] | null
  readonly confidence: number
  readonly unchangedSince: number
}

type TariffCoverage = Omit<Coverage, 'schedule' | 'unchangedSince'>

const infinite = Number.POSITIVE_INFINITY
/** 90 × 24 h. */
const provisionalStepMs = 7_776_000_000
const provisionalSteps = [8000, 6000, 4000, 2000]

export const contractStartOf = (tariff: Tariff): number => tariff.contractStart ?? -infinite
/** The exclusive end of the span in which a tariff is in force under contract. */
export const contractEndOf = (tariff: Tariff): number =>
  Math.min(tariff.contractEnd ?? infinite, tariff.closedAt ?? infinite)

const compareClosedFirst = (a: Tariff, b: Tariff): number => {
  const closing = (a.closedAt ?? infinite) - (b.closedAt ?? infinite)
  if (closing < 0 || closing > 0) return closing
  if (contractStartOf(a) !== contractStartOf(b)) return contractStartOf(a) < contractStartOf(b) ? -1 : 1
  return a.id < b.id ? -1 : 1
}

type ContractInterval = { start: number; end: number; tariff: Tariff }

/** The parts of a span that no other one has taken; `taken` is sorted and does not overlap. */
const freeIntervals = (contract: ContractInterval, takenIntervals: readonly ContractInterval[]): ContractInterval[] => {
  const parts: ContractInterval[] = []
  let from = contract.start
  for (const other of takenIntervals) {
    if (other.end <= from || other.start >= contract.end) continue
    if (other.start > from) parts.push({ ...contract, start: from, end: other.start })
    from = other.end
  }
  if (from < contract.end) parts.push({ ...contract, start: from })
  return parts
}

/** Spans under contract, sorted. A closed tariff keeps what it has priced, so it goes before a later one that reaches back. */
const contractIntervals = (tariffs: readonly Tariff[]): ContractInterval[] => {
  const takenIntervals: ContractInterval[] = []
  for (const tariff of [...tariffs].sort(compareClosedFirst)) {
    takenIntervals.push(
      ...freeIntervals({ start: contractStartOf(tariff), end: contractEndOf(tariff), tariff }, takenIntervals),
    )
    takenIntervals.sort((a, b) => (a.start < b.start ? -1 : 1))
  }
  return takenIntervals
}

/** What follows a span until `to`: the pattern goes on, less and less certain, unless the tariff was closed; then nothing. */
const afterContract = ({ end: from, tariff }: ContractInterval, to: number): TariffCoverage[] => {
  const provisionalEnd =
    tariff.contractEnd !== null && from >= tariff.contractEnd ? Math.min(to, tariff.closedAt ?? infinite) : from
  const parts: TariffCoverage[] = []
  const contractEnd = tariff.contractEnd ?? from
  let start = from
  for (const [step, confidence] of provisionalSteps.entries()) {
    const stepEnd = step === provisionalSteps.length - 1 ? infinite : contractEnd + (step + 1) * provisionalStepMs
    const end = Math.min(provisionalEnd, stepEnd)
    if (end > start) parts.push({ start, end, tariff, confidence })
    start = Math.max(start, end)
  }
  if (start < to) parts.push({ start, end: to, tariff: null, confidence: 10_000 })
  return parts
}

/** Cut an interval of a tariff where its versions begin. */
const cutAtVersions = (coverage: TariffCoverage): Coverage[] => {
  const { start: from, end: to, tariff } = coverage
  if (tariff === null) return [{ ...coverage, schedule: null, unchangedSince: from }]
  const parts: Coverage[] = [{ ...coverage, schedule: tariff.schedule, unchangedSince: from }]
  for (const { effectiveFrom, schedule } of tariff.versions ?? []) {
    if (effectiveFrom >= to) break
    const start = Math.max(from, effectiveFrom)
    const last = parts.pop() as Coverage
    if (last.start < start) parts.push({ ...last, end: start })
    parts.push({ ...last, start, schedule })
  }
  return parts
}

/**
 * Give which tariff of a direction and type is in force when, and which of its schedules, over all time and in order.
 * After a contract's end the pattern goes on until the next tariff of its kind: 0.8, 0.2 less per 90 × 24 h, not below 0.2.
 * A closed tariff does not go on; before the first contract there is none.
 * Source: docs/rules/tariffs.md #after-the-contract.
 */
export const tariffCoverage = (
  tariffs: readonly Tariff[],
  direction: TariffDirection,
  type: TariffType,
): Coverage[] => {
  const contracts = contractIntervals(tariffs.filter(tariff => tariff.direction === direction && tariff.type === type))
  const first = contracts[0]
  if (first === undefined) return cutAtVersions({ start: -infinite, end: infinite, tariff: null, confidence: 10_000 })
  const coverage: TariffCoverage[] =
    first.start > -infinite ? [{ start: -infinite, end: first.start, tariff: null, confidence: 10_000 }] : []
  for (const [index, contract] of contracts.entries()) {
    coverage.push({ ...contract, confidence: 10_000 })
    const next = contracts[index + 1]?.start ?? infinite
    if (contract.end < next) coverage.push(...afterContract(contract, next))
  }
  return coverage.flatMap(cutAtVersions)
}
