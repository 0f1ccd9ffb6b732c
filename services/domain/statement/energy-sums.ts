import { addToMean, type ConfidenceMean, confidenceOfMean, createMean } from '../cost/confidence-mean.ts'
import type { Interval } from '../interval.ts'
import { costOf, cumulativeShare, type Energy, type Money, type Price } from '../quantity.ts'
import type { TariffType } from '../tariff/tariff.ts'
import type { BilledPiece, BilledRow } from './billed-row.ts'
import type { PriceDetail } from './statement-line.ts'

/** Tariff that a line can belong to. `component` names its line. */
export type BilledTariff = {
  readonly id: string
  readonly type: TariffType
  readonly component: string
  readonly planId: string | null
}

/** Flow of rows: bought, sold, own generation, and energy that a storage supplies at the import price. */
export type RowFlow = 'IMPORT' | 'EXPORT' | 'LOCAL' | 'SUPPLIED'

/** Sums of one component in one bucket. `tariffId` and `price` are null if there are several. */
type ComponentBucket = {
  energy: Energy
  amount: Money
  tariffId: string | null
  price: Price | null
  readonly prices: Map<Price, { energy: Energy; amount: Money }>
}

/** Sums of one component of a flow by bucket. `type`: type of the tariffs that have the component. */
export type ComponentSums = {
  readonly flow: RowFlow
  readonly component: string
  readonly type: TariffType
  readonly buckets: (ComponentBucket | undefined)[]
}

/** Components of the pieces with some tariffs. `fee` is null if both parts of the price belong to one component. */
type PieceComponents = {
  readonly flow: RowFlow
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly commodity: ComponentSums
  readonly fee: ComponentSums | null
}

/** Pieces with one confidence (1e-10) that are not in the mean yet. */
type ConfidenceRun = { confidence: number; energy: Energy; timeMs: number; count: number }

/**
 * Sums of the rows of a statement, in buckets between edges. `records` counts the rows of each flow by bucket.
 */
export type EnergyBuckets = {
  readonly edges: readonly number[]
  readonly tariffs: ReadonlyMap<string, BilledTariff>
  readonly hasDetail: boolean
  readonly components: Map<string, ComponentSums>
  readonly records: Readonly<Record<RowFlow, number[]>>
  readonly mean: ConfidenceMean
  readonly run: ConfidenceRun
  latest: PieceComponents | null
}

export const createEnergyBuckets = (
  edges: readonly number[],
  tariffs: readonly BilledTariff[],
  hasDetail: boolean,
): EnergyBuckets => {
  const zeros = (): number[] => new Array(edges.length - 1).fill(0)
  return {
    edges,
    tariffs: new Map(tariffs.map(tariff => [tariff.id, tariff])),
    hasDetail,
    components: new Map(),
    records: { IMPORT: zeros(), EXPORT: zeros(), LOCAL: zeros(), SUPPLIED: zeros() },
    mean: createMean(),
    run: { confidence: 0, energy: 0n, timeMs: 0, count: 0 },
    latest: null,
  }
}

/** Return the flow of a row or record. */
export const rowFlowOf = ({
  energyFlowDirection,
  tariffDirection,
}: Pick<BilledRow, 'energyFlowDirection' | 'tariffDirection'>): RowFlow => {
  if (tariffDirection !== 'IMPORT') return tariffDirection
  return energyFlowDirection === 'INBOUND' ? 'IMPORT' : 'SUPPLIED'
}

/** Default component of the tariffs of a type. */
export const defaultTariffComponents: Readonly<Record<TariffType, string>> = {
  COMMODITY: 'energy',
  NON_COMMODITY: 'grid',
}

/** Return the index of the bucket that contains an instant; -1 before the first, the number of buckets after the last. */
const bucketAt = (edges: readonly number[], at: number): number => {
  let [low, high] = [0, edges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((edges[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Part of a piece or row in a bucket. `share` returns its cumulative share of an amount. */
type BucketPart = Interval & { readonly bucket: number; readonly share: (amount: bigint) => bigint }

const wholeShare = (amount: bigint): bigint => amount

/**
 * Return the parts of an interval of a row by bucket, as `energy-cost.ts` cuts stored pieces. An interval without length
 * belongs to the bucket of its instant, or of the last ms before it if it ends a row that has length.
 */
const partsOf = (edges: readonly number[], piece: Interval, row: Interval): readonly BucketPart[] => {
  const { start, end } = piece
  const length = end - start
  const isRowEnd = length === 0 && end === row.end && row.start < row.end
  const first = bucketAt(edges, isRowEnd ? end - 1 : start)
  if (length === 0 || end <= (edges[first + 1] ?? Number.NEGATIVE_INFINITY))
    return first >= 0 && first < edges.length - 1 ? [{ start, end, bucket: first, share: wholeShare }] : []
  const parts: BucketPart[] = []
  for (let bucket = Math.max(0, first); bucket < edges.length - 1; bucket += 1) {
    const [from, to] = [Math.max(start, edges[bucket] as number), Math.min(end, edges[bucket + 1] as number)]
    if (from >= end) break
    if (from >= to) continue
    const share = (amount: bigint): bigint =>
      cumulativeShare(amount, to - start, length) - cumulativeShare(amount, from - start, length)
    parts.push({ start: from, end: to, bucket, share })
  }
  return parts
}

const componentOf = (sums: EnergyBuckets, flow: RowFlow, id: string | null, type: TariffType): ComponentSums => {
  const component = (id === null ? undefined : sums.tariffs.get(id)?.component) ?? defaultTariffComponents[type]
  const key = `${flow} ${component}`
  const found = sums.components.get(key) ?? { flow, component, type, buckets: [] }
  sums.components.set(key, found)
  return found
}

/** Return the components of a piece. Most pieces have the tariffs of the piece before. */
const componentsOf = (
  sums: EnergyBuckets,
  flow: RowFlow,
  { commodityId, nonCommodityId }: BilledPiece,
): PieceComponents => {
  const { latest } = sums
  if (latest?.flow === flow && latest.commodityId === commodityId && latest.nonCommodityId === nonCommodityId)
    return latest
  const commodity = componentOf(sums, flow, commodityId, 'COMMODITY')
  const fee = nonCommodityId === null ? commodity : componentOf(sums, flow, nonCommodityId, 'NON_COMMODITY')
  sums.latest = { flow, commodityId, nonCommodityId, commodity, fee: fee === commodity ? null : fee }
  return sums.latest
}

const addShare = (
  { buckets }: ComponentSums,
  bucket: number,
  { energy, amount, price, tariffId }: Omit<ComponentBucket, 'prices'> & { readonly price: Price },
  hasDetail: boolean,
): void => {
  const sum = buckets[bucket] ?? { energy: 0n, amount: 0n, tariffId, price, prices: new Map() }
  buckets[bucket] = sum
  // A price without energy does not count as a second price.
  const isFirst = sum.energy === 0n
  if (isFirst || (energy > 0n && sum.tariffId !== tariffId)) sum.tariffId = isFirst ? tariffId : null
  if (isFirst || (energy > 0n && sum.price !== price)) sum.price = isFirst ? price : null
  sum.energy += energy
  sum.amount += amount
  if (!hasDetail || energy === 0n) return
  const detail = sum.prices.get(price) ?? { energy: 0n, amount: 0n }
  detail.energy += energy
  detail.amount += amount
  sum.prices.set(price, detail)
}

/** Add time and energy of one confidence. Neighbours of equal confidence are added to the mean together. */
const addConfidence = (sums: EnergyBuckets, confidence: number, energy: Energy, timeMs: number): void => {
  const { run } = sums
  if (run.confidence !== confidence) {
    closeRun(sums)
    run.confidence = confidence
  }
  run.energy += energy
  run.timeMs += timeMs
  run.count += 1
}

const closeRun = ({ run, mean }: EnergyBuckets): void => {
  if (run.count > 0) addToMean(mean, run.energy, run.timeMs, BigInt(run.confidence) * 100n, BigInt(run.count))
  run.energy = 0n
  run.timeMs = run.count = 0
}

/** Return the confidence of bought and sold energy in 1e-4; unpriced energy has confidence 0. */
export const confidenceOfSums = (sums: EnergyBuckets): number => {
  closeRun(sums)
  return confidenceOfMean(sums.mean, 100_000_000n) ?? 10_000
}

/** Energy, cost and time (ms) of a part of a piece. `fee` is the non-commodity part of the cost. */
type PartAmounts = { readonly energy: Energy; readonly cost: Money; readonly fee: Money; readonly timeMs: number }

const addPart = (
  sums: EnergyBuckets,
  row: BilledRow,
  piece: BilledPiece,
  { flow, commodity, fee }: PieceComponents,
  bucket: number,
  part: PartAmounts,
): void => {
  const { price, nonCommodityPrice, commodityId: tariffId, nonCommodityId } = piece
  const { energy, timeMs } = part
  const cost = part.cost - part.fee
  const amount = flow === 'EXPORT' ? -cost : cost
  if (fee === null) addShare(commodity, bucket, { energy, amount, price, tariffId }, sums.hasDetail)
  else {
    addShare(commodity, bucket, { energy, amount, price: price - nonCommodityPrice, tariffId }, sums.hasDetail)
    const own = { energy, amount: part.fee, price: nonCommodityPrice, tariffId: nonCommodityId }
    addShare(fee, bucket, own, sums.hasDetail)
  }
  if (flow === 'IMPORT' || flow === 'EXPORT')
    addConfidence(sums, row.recordConfidence * piece.confidence, energy, timeMs)
}

/**
 * Add a priced piece to its components. The non-commodity part is Round9(non-commodity price × energy), and the rest is
 * the commodity part. Both are cut cumulatively, so they add up to the cut cost. `bucket` null: edges cut the row.
 */
const addPiece = (
  sums: EnergyBuckets,
  row: BilledRow,
  flow: RowFlow,
  piece: BilledPiece,
  bucket: number | null,
): void => {
  const components = componentsOf(sums, flow, piece)
  const { start, end, energy, cost } = piece
  const fee = components.fee === null ? 0n : costOf(energy, piece.nonCommodityPrice)
  if (bucket !== null) addPart(sums, row, piece, components, bucket, { energy, cost, fee, timeMs: end - start })
  else {
    for (const part of partsOf(sums.edges, piece, row)) {
      const amounts = { energy: part.share(energy), cost: part.share(cost), fee: part.share(fee) }
      addPart(sums, row, piece, components, part.bucket, { ...amounts, timeMs: part.end - part.start })
    }
  }
}

/** Add a row, in any order of rows. */
export const addRow = (sums: EnergyBuckets, row: BilledRow): void => {
  const flow = rowFlowOf(row)
  const parts = partsOf(sums.edges, row, row)
  const records = sums.records[flow]
  for (const { bucket } of parts) records[bucket] = (records[bucket] as number) + 1
  const [only] = parts
  if (only === undefined) return
  if (row.cost !== null) {
    const bucket = only.share === wholeShare ? only.bucket : null
    for (const piece of row.pieces) addPiece(sums, row, flow, piece as BilledPiece, bucket)
  } else if (flow === 'IMPORT' || flow === 'EXPORT') {
    for (const piece of row.pieces.length === 0 ? [row] : row.pieces)
      for (const { start, end, share } of partsOf(sums.edges, piece, row))
        addConfidence(sums, 0, share(piece.energy), end - start)
  }
}

/** Sums of a component over some buckets. `prices` by rising price. */
export type ComponentTotal = {
  readonly energy: Energy
  readonly amount: Money
  readonly tariffId: string | null
  readonly price: Price | null
  readonly prices: readonly PriceDetail[]
}

/** Return the only value of a list; null if there are several or none. */
const onlyOf = <T>(values: readonly (T | null)[]): T | null => {
  const [first, ...others] = new Set(values)
  return others.length === 0 ? (first ?? null) : null
}

const detailsOf = (buckets: readonly ComponentBucket[]): readonly PriceDetail[] => {
  const byPrice = new Map<Price, { energy: Energy; amount: Money }>()
  for (const { prices } of buckets) {
    for (const [price, { energy, amount }] of prices) {
      const sum = byPrice.get(price) ?? { energy: 0n, amount: 0n }
      byPrice.set(price, { energy: sum.energy + energy, amount: sum.amount + amount })
    }
  }
  return [...byPrice].map(([price, sum]) => ({ price, ...sum })).sort((a, b) => (a.price < b.price ? -1 : 1))
}

/** Add up the buckets [from, to) of a component. */
export const totalOf = ({ buckets }: Pick<ComponentSums, 'buckets'>, from: number, to: number): ComponentTotal => {
  const within = buckets.slice(from, to).filter(bucket => bucket !== undefined)
  return {
    energy: within.reduce((sum, { energy }) => sum + energy, 0n),
    amount: within.reduce((sum, { amount }) => sum + amount, 0n),
    tariffId: onlyOf(within.map(({ tariffId }) => tariffId)),
    price: onlyOf(within.map(({ price }) => price)),
    prices: detailsOf(within),
  }
}
