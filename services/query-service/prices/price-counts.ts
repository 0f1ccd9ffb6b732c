import { coverageBy } from '../../domain/cost/estimate.ts'
import { recordMoves } from '../../domain/cost/record-moves.ts'
import type { Interval } from '../../domain/cost/record-segments.ts'
import { type CountingCell, countingCells, tierBounds } from '../../domain/price/counting-cell.ts'
import { type CrossingEnergy, type EnergyBucket, tierSteps } from '../../domain/price/tier-step.ts'
import type { MeterRecord } from '../../domain/record/record.ts'
import type { CountedStep } from '../../domain/tariff/evaluate.ts'
import { countsEnergy, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { tierKey } from '../../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { type CountedLocation, energyByStart, rowsAcross } from '../../platform/clickhouse/meter-cost-energy.ts'
import { rowsOfSpan, type Span, type Tenant } from '../../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost-row.ts'

const hourMs = 3_600_000
/** No record is from before or after. */
const recordTimes: Span = { from: Date.UTC(1999, 0, 1), to: Date.UTC(2200, 0, 1) }
/** A span is told in so many buckets at first; one in which a tier ends is cut into so many more, unless its records are few. */
const firstParts = 600
const furtherParts = 64
const fewRecords = 20_000
/** So many buckets are told more finely in one statement. */
const bucketsAtOnce = 100

/** The starts of equal parts of a span, none shorter than `shortest`. */
const partsOf = ({ from, to }: Span, parts: number, shortest: number): readonly number[] => {
  const length = Math.max(shortest, Math.ceil((to - from) / parts))
  return Array.from({ length: Math.ceil((to - from) / length) }, (_, index) => from + index * length)
}

/** What is read from: the rows of one location and direction, whole within cells that these instants bound. */
type Rows = { readonly db: ClickHouse; readonly tenant: Tenant; readonly of: CountedLocation; readonly edges: readonly number[] }

const edgesOf = (cells: readonly CountingCell[]): readonly number[] => [...cells.map(({ start }) => start), cells.at(-1)?.end ?? 0]

/** Read the buckets into which `startsOf` cuts each of some spans, which are in order and apart from each other. */
const bucketsOf = async (
  { db, tenant, of, edges }: Rows,
  spans: readonly Span[],
  startsOf: (span: Span) => readonly number[],
): Promise<readonly EnergyBucket[]> => {
  const endOf = new Map<number, number>()
  for (const span of spans) {
    const starts = startsOf(span)
    for (const [index, start] of starts.entries()) endOf.set(start, starts[index + 1] ?? span.to)
  }
  const found = await energyByStart(db, tenant, of, edges, spans, [...endOf.keys()])
  return found.map(({ from, ...sum }) => ({ ...sum, start: from, end: endOf.get(from) ?? from + 1 }))
}

const bucketsByStart = async ({ db, tenant, of, edges }: Rows, spans: readonly Span[]): Promise<readonly EnergyBucket[]> => {
  const found = await energyByStart(db, tenant, of, edges, spans, null)
  return found.map(({ from, ...sum }) => ({ ...sum, start: from, end: from + 1 }))
}

/** Tell buckets more finely: record by record where they hold few, else in parts. */
const finer = (rows: Rows, coarse: readonly EnergyBucket[]): Promise<readonly EnergyBucket[]> => {
  const spans = coarse.map(({ start, end }): Span => ({ from: start, to: end }))
  const records = coarse.reduce((sum, bucket) => sum + bucket.records, 0)
  if (records <= fewRecords) return bucketsByStart(rows, spans)
  return bucketsOf(rows, spans, span => partsOf(span, furtherParts, 1))
}

/** Where actuals have taken the energy of an estimate: its pieces without any. */
const coveredOf = ({ energySubmitted, end, pieces }: MeterCostRow): readonly Interval[] =>
  energySubmitted === null
    ? []
    : pieces
        .map(({ start, energy }, index) => ({ start, end: pieces[index + 1]?.start ?? end, energy }))
        .filter(piece => piece.energy === 0n && piece.end > piece.start)

const submittedOf = (row: MeterCostRow): MeterRecord => ({
  ...row,
  energy: row.energySubmitted ?? row.energy,
  confidence: row.recordConfidence,
})

/** Read what covers estimates that have no pieces to tell it, because some of their time has no price. */
const coverageOf = async ({ db, tenant, of }: Rows, estimates: readonly MeterCostRow[]): Promise<ReturnType<typeof coverageBy>> => {
  const from = estimates.reduce((earliest, { start }) => Math.min(earliest, start), Number.POSITIVE_INFINITY)
  const to = estimates.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY)
  const stored: MeterRecord[] = []
  if (from >= to) return coverageBy(stored)
  const filter = { locationIds: [of.locationId], tariffDirection: of.direction }
  for await (const rows of rowsOfSpan(db, tenant, filter, { from, to })) for (const row of rows) stored.push(submittedOf(row))
  return coverageBy(stored)
}

/** Read what the records that lie across cells bring to each accumulator. */
const crossingEnergy = async (rows: Rows, snapshot: PricingSnapshot): Promise<readonly CrossingEnergy[]> => {
  const across: MeterCostRow[] = []
  for await (const block of rowsAcross(rows.db, rows.tenant, rows.of, rows.edges)) for (const row of block) across.push(row)
  const isUntold = ({ energySubmitted, pieces }: MeterCostRow): boolean => energySubmitted !== null && pieces.length === 0
  const coverage = await coverageOf(rows, across.filter(isUntold))
  return across.flatMap(row => {
    const record = submittedOf(row)
    return recordMoves(snapshot, record, isUntold(row) ? coverage(record) : coveredOf(row)).map(
      ({ type, direction, countingStart, before, after }) => ({
        key: tierKey(type, direction, countingStart),
        at: Math.max(row.start, countingStart),
        energy: after - before,
      }),
    )
  })
}

/** What accumulators have counted, by `tierKey`; what is absent has counted nothing. */
export type CountedSteps = ReadonlyMap<number, readonly CountedStep[]>

const nothing: CountedSteps = new Map()

/**
 * Read from the stored rows of a location what its accumulators have counted at `from`, and when they meet the bounds of tiers in
 * [from, to). The cost is that of adding up the rows of the months concerned in the store, however many they are.
 * Source: docs/rules/prices-and-audits.md #tier-in-force.
 */
export const countedStepsOf = async (
  db: ClickHouse,
  tenant: Tenant,
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  { from, to }: Span,
): Promise<CountedSteps> => {
  if (!countsEnergy(snapshot, direction) || from >= recordTimes.to || to <= recordTimes.from) return nothing
  const cells = countingCells(snapshot, direction, from, to)
  const [first] = cells
  if (first === undefined) return nothing
  const rows: Rows = { db, tenant, of: { locationId: snapshot.locationId, direction }, edges: edgesOf(cells) }
  const whole = { from: first.start, to }
  const starts = new Set([...rows.edges, ...partsOf({ from: from + 1, to }, firstParts, hourMs)])
  const edges = [...starts].filter(at => at >= whole.from && at < to).sort((a, b) => a - b)
  const [crossing, read] = await Promise.all([crossingEnergy(rows, snapshot), bucketsOf(rows, [whole], () => edges)])
  const bounds = tierBounds(snapshot, direction, from, to)
  let buckets = read
  for (;;) {
    const { steps, coarse } = tierSteps({ cells, buckets, crossing }, bounds, from)
    if (coarse.length === 0) return steps
    const now = new Set(coarse.slice(0, bucketsAtOnce))
    const told = await finer(rows, [...now])
    buckets = [...buckets.filter(bucket => !now.has(bucket)), ...told].sort((a, b) => a.start - b.start)
  }
}
