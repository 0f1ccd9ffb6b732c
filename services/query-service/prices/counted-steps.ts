import { accumulatorChangesOf } from '../../domain/cost/accumulator-changes.ts'
import { coverageLookup } from '../../domain/cost/covered-intervals.ts'
import type { Interval } from '../../domain/interval.ts'
import { hourMs } from '../../domain/interval.ts'
import { type CountingInterval, countingIntervals, tierBounds } from '../../domain/price/counting-interval.ts'
import { type CrossingEnergy, type EnergyBucket, tierSteps } from '../../domain/price/tier-step.ts'
import type { MeterRecord } from '../../domain/record/record.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { CountedStep } from '../../domain/tariff/evaluate.ts'
import { hasTieredPrices, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type CountedLocation,
  energyByStart,
  rowsAcross,
} from '../../platform/clickhouse/meter-cost/meter-cost-energy.ts'
import { type QueryInterval, rowsInInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'

/** Interval of all records. */
const recordTimes: QueryInterval = { from: Date.UTC(1999, 0, 1), to: Date.UTC(2200, 0, 1) }
/**
 * An interval is first read in 600 buckets. A bucket in which a tier ends is divided into 64 buckets.
 * If the buckets to divide have at most 20,000 records together, their records are read instead.
 */
const initialBuckets = 600
const refinedBuckets = 64
const maxListedRecords = 20_000
/** Maximum number of buckets that one statement refines. */
const maxRefinedPerStatement = 100

/** Return the starts of equal buckets of an interval, each at least `minLengthMs` long. */
const bucketStarts = ({ from, to }: QueryInterval, bucketCount: number, minLengthMs: number): readonly number[] => {
  const length = Math.max(minLengthMs, Math.ceil((to - from) / bucketCount))
  return Array.from({ length: Math.ceil((to - from) / length) }, (_, index) => from + index * length)
}

/**
 * Rows of one location and direction that lie within one counting interval. `edges` are the bounds of the counting
 * intervals.
 */
type RowSource = {
  readonly db: ClickHouse
  readonly tenant: Tenant
  readonly flow: CountedLocation
  readonly edges: readonly number[]
}

const edgesOfCountingIntervals = (countedIntervals: readonly CountingInterval[]): readonly number[] => [
  ...countedIntervals.map(({ start }) => start),
  countedIntervals.at(-1)?.end ?? 0,
]

/**
 * Read the energy per bucket. `startsOf` divides each interval into buckets. The intervals are in order and disjoint.
 */
const readBuckets = async (
  { db, tenant, flow, edges }: RowSource,
  intervals: readonly QueryInterval[],
  startsOf: (interval: QueryInterval) => readonly number[],
): Promise<readonly EnergyBucket[]> => {
  const endOf = new Map<number, number>()
  for (const interval of intervals) {
    const starts = startsOf(interval)
    for (const [index, start] of starts.entries()) endOf.set(start, starts[index + 1] ?? interval.to)
  }
  const found = await energyByStart(db, tenant, flow, edges, intervals, [...endOf.keys()])
  return found.map(({ from, ...sum }) => ({ ...sum, start: from, end: endOf.get(from) ?? from + 1 }))
}

/** Read the energy per start of a record. */
const readBucketsByStart = async (
  { db, tenant, flow, edges }: RowSource,
  intervals: readonly QueryInterval[],
): Promise<readonly EnergyBucket[]> => {
  const found = await energyByStart(db, tenant, flow, edges, intervals, null)
  return found.map(({ from, ...sum }) => ({ ...sum, start: from, end: from + 1 }))
}

/** Refine coarse buckets: by record if they have few records, otherwise by smaller buckets. */
const refineBuckets = (rows: RowSource, coarse: readonly EnergyBucket[]): Promise<readonly EnergyBucket[]> => {
  const intervals = coarse.map(({ start, end }): QueryInterval => ({ from: start, to: end }))
  const records = coarse.reduce((sum, bucket) => sum + bucket.records, 0)
  if (records <= maxListedRecords) return readBucketsByStart(rows, intervals)
  return readBuckets(rows, intervals, interval => bucketStarts(interval, refinedBuckets, 1))
}

/** Return the intervals of an estimate that actuals cover: its pieces without energy. */
const coveredIntervals = ({ energySubmitted, pieces }: MeterCostRow): readonly Interval[] =>
  energySubmitted === null ? [] : pieces.filter(({ start, end, energy }) => energy === 0n && end > start)

const submittedOf = (row: MeterCostRow): MeterRecord => ({
  ...row,
  energy: row.energySubmitted ?? row.energy,
  confidence: row.recordConfidence,
})

/**
 * Read the records that cover estimates without pieces. Such estimates have no pieces because part of their time has no
 * price.
 */
const readCoverage = async (
  { db, tenant, flow }: RowSource,
  estimates: readonly MeterCostRow[],
): Promise<ReturnType<typeof coverageLookup>> => {
  const from = estimates.reduce((earliest, { start }) => Math.min(earliest, start), Number.POSITIVE_INFINITY)
  const to = estimates.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY)
  const stored: MeterRecord[] = []
  if (from >= to) return coverageLookup(stored)
  const filter = { locationIds: [flow.locationId], tariffDirection: flow.direction }
  for await (const rows of rowsInInterval(db, tenant, filter, { from, to }))
    for (const row of rows) stored.push(submittedOf(row))
  return coverageLookup(stored)
}

/** Read the energy that records across counting intervals add to each accumulator. */
const readCrossingEnergy = async (rows: RowSource, snapshot: PricingSnapshot): Promise<readonly CrossingEnergy[]> => {
  const crossingRows: MeterCostRow[] = []
  for await (const block of rowsAcross(rows.db, rows.tenant, rows.flow, rows.edges))
    for (const row of block) crossingRows.push(row)
  const hasUnknownCoverage = ({ energySubmitted, pieces }: MeterCostRow): boolean =>
    energySubmitted !== null && pieces.length === 0
  const coverage = await readCoverage(rows, crossingRows.filter(hasUnknownCoverage))
  return crossingRows.flatMap(row => {
    const record = submittedOf(row)
    return accumulatorChangesOf(
      snapshot,
      record,
      hasUnknownCoverage(row) ? coverage(record) : coveredIntervals(row),
    ).map(({ type, direction, countingStart, before, after }) => ({
      key: accumulatorKey(type, direction, countingStart),
      at: Math.max(row.start, countingStart),
      energy: after - before,
    }))
  })
}

/** Counted energy of accumulators, by `accumulatorKey`. An absent accumulator has counted nothing. */
export type CountedSteps = ReadonlyMap<number, readonly CountedStep[]>

const noSteps: CountedSteps = new Map()

/**
 * Calculate from the stored rows of a location the energy that its accumulators have counted at `from`.
 * Also calculate the instants in [from, to) at which they reach the bounds of tiers.
 * ClickHouse adds up the rows of the months concerned.
 * Source: docs/rules/prices-and-audits.md #tier-in-force.
 */
export const countedStepsOf = async (
  db: ClickHouse,
  tenant: Tenant,
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  { from, to }: QueryInterval,
): Promise<CountedSteps> => {
  if (!hasTieredPrices(snapshot, direction) || from >= recordTimes.to || to <= recordTimes.from) return noSteps
  const countedIntervals = countingIntervals(snapshot, direction, from, to)
  const [first] = countedIntervals
  if (first === undefined) return noSteps
  const rows: RowSource = {
    db,
    tenant,
    flow: { locationId: snapshot.locationId, direction },
    edges: edgesOfCountingIntervals(countedIntervals),
  }
  const wholeInterval = { from: first.start, to }
  const starts = new Set([...rows.edges, ...bucketStarts({ from: from + 1, to }, initialBuckets, hourMs)])
  const edges = [...starts].filter(at => at >= wholeInterval.from && at < to).sort((a, b) => a - b)
  const [crossing, firstBuckets] = await Promise.all([
    readCrossingEnergy(rows, snapshot),
    readBuckets(rows, [wholeInterval], () => edges),
  ])
  const bounds = tierBounds(snapshot, direction, from, to)
  let buckets = firstBuckets
  for (;;) {
    const { steps, tooCoarse: coarse } = tierSteps({ intervals: countedIntervals, buckets, crossing }, bounds, from)
    if (coarse.length === 0) return steps
    const refinedNow = new Set(coarse.slice(0, maxRefinedPerStatement))
    const refined = await refineBuckets(rows, [...refinedNow])
    buckets = [...buckets.filter(bucket => !refinedNow.has(bucket)), ...refined].sort((a, b) => a.start - b.start)
  }
}
