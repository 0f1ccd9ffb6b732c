import type { ScheduleEntry, Tariff, TariffDirection, TariffType } from './tariff.ts'

/**
 * A half-open interval in which one schedule of one tariff is in force, or none (both null). Confidence in 1e-4: 10000 under contract, less
 * after it. Since `since` the tariff and its confidence have not changed.
 */
export type Coverage = {
  readonly from: number
  readonly to: number
  readonly tariff: Tariff | null
  readonly schedule: readonly ScheduleEntry[] | null
  readonly confidence: number
  readonly since: number
}

type TariffCoverage = Omit<Coverage, 'schedule' | 'since'>

const open = Number.POSITIVE_INFINITY
/** 90 × 24 h. */
const provisionalStepMs = 7_776_000_000
const provisionalSteps = [8000, 6000, 4000, 2000]

export const startOf = (tariff: Tariff): number => tariff.contractStart ?? -open
/** The exclusive end of the span in which a tariff is in force under contract. */
export const endOf = (tariff: Tariff): number => Math.min(tariff.contractEnd ?? open, tariff.closedAt ?? open)

const closedFirst = (a: Tariff, b: Tariff): number => {
  const closing = (a.closedAt ?? open) - (b.closedAt ?? open)
  if (closing < 0 || closing > 0) return closing
  if (startOf(a) !== startOf(b)) return startOf(a) < startOf(b) ? -1 : 1
  return a.id < b.id ? -1 : 1
}

type Span = { from: number; to: number; tariff: Tariff }

/** The parts of a span that no other one has taken; `taken` is sorted and does not overlap. */
const freeParts = (span: Span, taken: readonly Span[]): Span[] => {
  const parts: Span[] = []
  let from = span.from
  for (const other of taken) {
    if (other.to <= from || other.from >= span.to) continue
    if (other.from > from) parts.push({ ...span, from, to: other.from })
    from = other.to
  }
  if (from < span.to) parts.push({ ...span, from })
  return parts
}

/** Spans under contract, sorted. A closed tariff keeps what it has priced, so it goes before a later one that reaches back. */
const contractSpans = (tariffs: readonly Tariff[]): Span[] => {
  const taken: Span[] = []
  for (const tariff of [...tariffs].sort(closedFirst)) {
    taken.push(...freeParts({ from: startOf(tariff), to: endOf(tariff), tariff }, taken))
    taken.sort((a, b) => (a.from < b.from ? -1 : 1))
  }
  return taken
}

/** What follows a span until `to`: the pattern goes on, less and less certain, unless the tariff was closed; then nothing. */
const continuation = ({ to: from, tariff }: Span, to: number): TariffCoverage[] => {
  const provisionalEnd = tariff.contractEnd !== null && from >= tariff.contractEnd ? Math.min(to, tariff.closedAt ?? open) : from
  const parts: TariffCoverage[] = []
  const contractEnd = tariff.contractEnd ?? from
  let start = from
  for (const [step, confidence] of provisionalSteps.entries()) {
    const stepEnd = step === provisionalSteps.length - 1 ? open : contractEnd + (step + 1) * provisionalStepMs
    const end = Math.min(provisionalEnd, stepEnd)
    if (end > start) parts.push({ from: start, to: end, tariff, confidence })
    start = Math.max(start, end)
  }
  if (start < to) parts.push({ from: start, to, tariff: null, confidence: 10_000 })
  return parts
}

/** Cut an interval of a tariff where its versions begin. */
const byVersion = (coverage: TariffCoverage): Coverage[] => {
  const { from, to, tariff } = coverage
  if (tariff === null) return [{ ...coverage, schedule: null, since: from }]
  const parts: Coverage[] = [{ ...coverage, schedule: tariff.schedule, since: from }]
  for (const { effectiveFrom, schedule } of tariff.versions ?? []) {
    if (effectiveFrom >= to) break
    const start = Math.max(from, effectiveFrom)
    const last = parts.pop() as Coverage
    if (last.from < start) parts.push({ ...last, to: start })
    parts.push({ ...last, from: start, schedule })
  }
  return parts
}

/**
 * Give which tariff of a direction and type is in force when, and which of its schedules, over all time and in order.
 * After a contract's end the pattern goes on until the next tariff of its kind: 0.8, 0.2 less per 90 × 24 h, not below 0.2.
 * A closed tariff does not go on; before the first contract there is none.
 * Source: docs/rules/tariffs.md #after-the-contract.
 */
export const tariffCoverage = (tariffs: readonly Tariff[], direction: TariffDirection, type: TariffType): Coverage[] => {
  const spans = contractSpans(tariffs.filter(tariff => tariff.direction === direction && tariff.type === type))
  const first = spans[0]
  if (first === undefined) return byVersion({ from: -open, to: open, tariff: null, confidence: 10_000 })
  const coverage: TariffCoverage[] = first.from > -open ? [{ from: -open, to: first.from, tariff: null, confidence: 10_000 }] : []
  for (const [index, span] of spans.entries()) {
    coverage.push({ ...span, confidence: 10_000 })
    const next = spans[index + 1]?.from ?? open
    if (span.to < next) coverage.push(...continuation(span, next))
  }
  return coverage.flatMap(byVersion)
}
