import { dayMs, type Interval } from '../interval.ts'
import type { ScheduleEntry, Tariff, TariffDirection, TariffType } from './tariff.ts'

/**
 * Interval in which one schedule of one tariff applies, or no tariff (both null). `confidence` is in 1e-4: 10000 under
 * contract, less after it. From `unchangedSince` the tariff and its confidence have not changed.
 */
export type Coverage = Interval & {
  readonly tariff: Tariff | null
  readonly schedule: readonly ScheduleEntry[] | null
  readonly confidence: number
  readonly unchangedSince: number
}

type TariffCoverage = Omit<Coverage, 'schedule' | 'unchangedSince'>

const infinite = Number.POSITIVE_INFINITY
const provisionalStepMs = 90 * dayMs
const provisionalSteps = [8000, 6000, 4000, 2000]

export const contractStartOf = (tariff: Tariff): number => tariff.contractStart ?? -infinite
/** Return the exclusive end of the interval in which a tariff applies under contract. */
export const contractEndOf = (tariff: Tariff): number =>
  Math.min(tariff.contractEnd ?? infinite, tariff.closedAt ?? infinite)

const compareClosedFirst = (a: Tariff, b: Tariff): number => {
  const closing = (a.closedAt ?? infinite) - (b.closedAt ?? infinite)
  if (closing < 0 || closing > 0) return closing
  if (contractStartOf(a) !== contractStartOf(b)) return contractStartOf(a) < contractStartOf(b) ? -1 : 1
  return a.id < b.id ? -1 : 1
}

type ContractInterval = { start: number; end: number; tariff: Tariff }

/** Return the parts of a contract that no other contract has taken. `takenIntervals` are sorted and do not overlap. */
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

/**
 * Return the intervals under contract, sorted. A closed tariff keeps its time, so it comes before a later tariff that
 * reaches back.
 */
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

/**
 * Return the coverage from the end of a contract to `to`. The schedule continues with decreasing confidence, unless the
 * tariff was closed.
 */
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

/** Cut an interval of a tariff at the starts of its versions. */
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
 * Return the tariff of a direction and type and its schedule over all time, in order.
 * After the end of a contract its schedule continues until the next tariff of its kind, with confidence 0.8, 0.2 less
 * per 90 × 24 h, at least 0.2. A closed tariff does not continue. Before the first contract there is no tariff.
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
