import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'

/** A reading as the oracle sees it. Of readings of one place, the last of the list is valid. */
export type OracleReading = {
  readonly time: number
  readonly isRestart: boolean
  readonly value: bigint | null
}

/** An interval of the oracle: from, to and energy. */
export type OracleInterval = readonly [from: number, to: number, energy: bigint]

type Point = { readonly time: number; readonly value: bigint }

const dayMs = 86_400_000
/** The last one of so many readings that are left out in a row is a base. */
const longestRow = 1_000

/**
 * Calculate the intervals of a set of readings from the words of docs/rules/metering.md alone: each meter on its own,
 * with the whole list in memory.
 */
export const oracleIntervals = (
  rule: RegisterRule | null,
  arrivals: readonly OracleReading[],
): readonly OracleInterval[] => {
  const places = new Map(arrivals.map(one => [`${one.time} ${one.isRestart ? 'b' : 'a'}`, one]))
  const valid = [...places.values()].sort((a, b) => a.time - b.time || (a.isRestart ? 1 : 0) - (b.isRestart ? 1 : 0))
  const range = rule?.kind === 'LIFETIME' && rule.digits !== null ? BigInt(`1${'0'.repeat(rule.digits + 9)}`) : null
  const meters: Point[][] = [[]]
  for (const { time, isRestart, value } of valid) {
    if (value === null) continue
    if (isRestart && (range === null || value < range)) meters.push([])
    meters.at(-1)?.push({ time, value })
  }
  return meters.flatMap(points => intervalsOfMeter(rule, range, points))
}

const intervalsOfMeter = (
  rule: RegisterRule | null,
  range: bigint | null,
  points: readonly Point[],
): readonly OracleInterval[] => {
  const watts = rule?.maxPower ?? 10n ** 13n
  const fits = (from: Point, to: Point, energy: bigint): boolean =>
    energy * 3_600_000n <= watts * BigInt(to.time - from.time)
  const found: OracleInterval[] = []
  const count = (from: Point, to: Point, energy: bigint): void => {
    if (to.time - from.time <= 366 * dayMs) found.push([from.time, to.time, energy])
  }
  // `chain`: the base, then perhaps the implausible reading after it. `row`: readings left out since the base.
  let chain: readonly Point[] = []
  let row = 0
  const isInside = (value: bigint): boolean => range === null || value < range
  const start = (point: Point): void => {
    chain = [point]
    row = 0
  }
  const leaveOut = (point: Point, next: readonly Point[]): void => {
    row += 1
    if (row === longestRow) start(point)
    else chain = next
  }
  for (const [index, point] of points.entries()) {
    const [base, implausible] = chain
    if (!isInside(point.value)) leaveOut(point, chain)
    else if (base === undefined) start(point)
    else if (point.value < base.value) {
      const later = points.slice(index + 1).filter(({ time }) => time <= point.time + dayMs)
      const isDip = rule?.kind === 'LIFETIME' && later.some(({ value }) => value >= base.value && isInside(value))
      if (isDip) {
        leaveOut(point, chain)
        continue
      }
      const rolled = range === null ? null : range - base.value + point.value
      const crossesHalf = range !== null && isInside(base.value) && 2n * base.value >= range && 2n * point.value < range
      if (rolled !== null && crossesHalf && fits(base, point, rolled)) count(base, point, rolled)
      start(point)
    } else {
      const from = implausible !== undefined && implausible.value <= point.value ? implausible : base
      if (fits(from, point, point.value - from.value)) {
        count(from, point, point.value - from.value)
        start(point)
      } else leaveOut(point, [base, point])
    }
  }
  return found
}
