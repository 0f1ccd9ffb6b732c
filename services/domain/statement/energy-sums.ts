import { type BucketPart, cutAtEdges } from '../cost/bucket-parts.ts'
import { addToMean, type ConfidenceMean, confidenceOfMean, createMean } from '../cost/confidence-mean.ts'
import { costOf, type Energy, type Money, type Price, shareWithin } from '../quantity.ts'
import { defaultTariffComponents, type TariffDirection, type TariffType } from '../tariff/tariff.ts'
import type { BilledPiece, BilledRow } from './billed-row.ts'
import type { PriceDetail } from './statement-line.ts'
import { addUncertain, createUncertainEnergy, type UncertainEnergy } from './uncertain-energy.ts'

/** Tariff that a line can belong to. `component` names its line. `contractStart` is in ms; null is open. */
export type BilledTariff = {
  readonly id: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly component: string
  readonly planId: string | null
  readonly contractStart: number | null
}

/** Flow of rows: bought, sold, own generation, and energy that a storage supplies at the import price. */
export type RowFlow = 'IMPORT' | 'EXPORT' | 'LOCAL' | 'SUPPLIED'

/**
 * Sums of one component in one bucket. `tariffId` and `price` are those of the parts with energy, or of all parts if no
 * part has energy (`isIdle`). They are null if there are several. `hasType`: types of the tariffs of the parts.
 */
type ComponentBucket = {
  readonly hasType: Record<TariffType, boolean>
  isIdle: boolean
  energy: Energy
  amount: Money
  tariffId: string | null
  price: Price | null
  readonly prices: Map<Price, { energy: Energy; amount: Money }>
}

/** Sums of one component of a flow by bucket. */
export type ComponentSums = {
  readonly flow: RowFlow
  readonly component: string
  readonly buckets: (ComponentBucket | undefined)[]
}

/**
 * Components of the pieces with some tariffs. `fee` is null if both parts of the price belong to one component;
 * `tariffId` is then the only tariff, or null.
 */
type PieceComponents = {
  readonly flow: RowFlow
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly tariffId: string | null
  readonly commodity: ComponentSums
  readonly fee: ComponentSums | null
}

/** Pieces with one confidence (1e-12) that are not in the mean yet. */
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
  readonly uncertain: UncertainEnergy
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
    uncertain: createUncertainEnergy(),
    run: { confidence: 0, energy: 0n, timeMs: 0, count: 0 },
    latest: null,
  }
}

/** Return the flow of a row or record. */
export const rowFlowOf = (row: Pick<BilledRow, 'energyFlowDirection' | 'tariffDirection'>): RowFlow => {
  if (row.tariffDirection !== 'IMPORT') return row.tariffDirection
  return row.energyFlowDirection === 'INBOUND' ? 'IMPORT' : 'SUPPLIED'
}

/** Return the key of a component in `EnergyBuckets`. */
export const componentKey = (flow: RowFlow, component: string): string => `${flow} ${component}`

const componentOf = (sums: EnergyBuckets, flow: RowFlow, id: string | null, type: TariffType): ComponentSums => {
  const component = (id === null ? undefined : sums.tariffs.get(id)?.component) ?? defaultTariffComponents[type]
  const key = componentKey(flow, component)
  const found = sums.components.get(key) ?? { flow, component, buckets: [] }
  sums.components.set(key, found)
  return found
}

/** Check if the energy of a flow is in the lines of a statement. The other flows have one sum each. */
const isInLines = (flow: RowFlow): boolean => flow === 'IMPORT' || flow === 'EXPORT'

/** Return the components of a piece. Most pieces have the tariffs of the piece before. */
const componentsOf = (
  sums: EnergyBuckets,
  flow: RowFlow,
  { commodityId, nonCommodityId }: BilledPiece,
): PieceComponents => {
  const { latest } = sums
  if (latest?.flow === flow && latest.commodityId === commodityId && latest.nonCommodityId === nonCommodityId)
    return latest
  const hasFee = nonCommodityId !== null && isInLines(flow)
  const commodity = componentOf(sums, flow, isInLines(flow) ? commodityId : null, 'COMMODITY')
  const fee = hasFee ? componentOf(sums, flow, nonCommodityId, 'NON_COMMODITY') : commodity
  const tariffId = nonCommodityId === null ? commodityId : null
  sums.latest = { flow, commodityId, nonCommodityId, tariffId, commodity, fee: fee === commodity ? null : fee }
  return sums.latest
}

/** Part of a piece in a component. */
type Share = {
  readonly type: TariffType
  readonly energy: Energy
  readonly amount: Money
  readonly price: Price
  readonly tariffId: string | null
}

const createBucket = (tariffId: string | null, price: Price): ComponentBucket => ({
  hasType: { COMMODITY: false, NON_COMMODITY: false },
  isIdle: true,
  energy: 0n,
  amount: 0n,
  tariffId,
  price,
  prices: new Map(),
})

const addShare = ({ buckets }: ComponentSums, bucket: number, share: Share, hasDetail: boolean): void => {
  const { type, energy, amount, price, tariffId } = share
  const sum = buckets[bucket] ?? createBucket(tariffId, price)
  buckets[bucket] = sum
  sum.hasType[type] = true
  if (sum.isIdle && energy > 0n) {
    sum.isIdle = false
    sum.tariffId = tariffId
    sum.price = price
  } else if (sum.isIdle || energy > 0n) {
    if (sum.tariffId !== tariffId) sum.tariffId = null
    if (sum.price !== price) sum.price = null
  }
  sum.energy += energy
  sum.amount += amount
  if (!hasDetail || (energy === 0n && amount === 0n)) return
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
  if (run.count > 0) addToMean(mean, run.energy, run.timeMs, BigInt(run.confidence), BigInt(run.count))
  run.energy = 0n
  run.timeMs = run.count = 0
}

/** Return the confidence of bought and sold energy in 1e-4; unpriced energy has confidence 0. */
export const confidenceOfSums = (sums: EnergyBuckets): number => {
  closeRun(sums)
  return confidenceOfMean(sums.mean, 100_000_000n) ?? 10_000
}

/** Part of a piece in a bucket with its energy and cost. `fee` is the non-commodity part of the cost. */
type PartAmounts = BucketPart & { readonly energy: Energy; readonly cost: Money; readonly fee: Money }

/** Prices and amounts of sold energy are negative. */
const signed = (flow: RowFlow, value: bigint): bigint => (flow === 'EXPORT' ? -value : value)

const addPart = (
  sums: EnergyBuckets,
  row: BilledRow,
  piece: BilledPiece,
  { flow, commodity, fee, tariffId }: PieceComponents,
  part: PartAmounts,
): void => {
  const { bucket, energy, cost, fee: feeCost } = part
  const { price, nonCommodityPrice, commodityId, nonCommodityId } = piece
  const own = { type: 'COMMODITY', energy } as const
  if (fee === null) {
    const share = { ...own, amount: signed(flow, cost), price: signed(flow, price), tariffId }
    addShare(commodity, bucket, share, sums.hasDetail)
  } else {
    const ownPrice = signed(flow, price - nonCommodityPrice)
    const share = { ...own, amount: signed(flow, cost - feeCost), price: ownPrice, tariffId: commodityId }
    addShare(commodity, bucket, share, sums.hasDetail)
    const [amount, feePrice] = [signed(flow, feeCost), signed(flow, nonCommodityPrice)]
    const feeShare = { type: 'NON_COMMODITY', energy, amount, price: feePrice, tariffId: nonCommodityId } as const
    addShare(fee, bucket, feeShare, sums.hasDetail)
  }
  if (!isInLines(flow)) return
  addConfidence(sums, row.recordConfidence * piece.confidence, energy, part.end - part.start)
  addUncertain(sums.uncertain, row, piece, part)
}

/**
 * Add a priced piece to its components. The non-commodity part is Round9(non-commodity price × energy), and the rest is
 * the commodity part. Edges cut the cost of the stored piece and the non-commodity part cumulatively, so the parts add
 * up to the costs of the same time. `bucket` null: edges cut the row.
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
  if (bucket !== null) {
    addPart(sums, row, piece, components, { start, end, bucket, energy, cost, fee })
    return
  }
  const whole = piece.whole ?? piece
  for (const part of cutAtEdges(sums.edges, piece, row)) {
    const shares = { energy: shareWithin(whole.energy, whole, part), cost: shareWithin(whole.cost, whole, part) }
    addPart(sums, row, piece, components, { ...part, ...shares, fee: shareWithin(fee, piece, part) })
  }
}

/** Add a row, in any order of rows. A row with many pieces is added in parts: its pieces [from, to). */
export const addRow = (sums: EnergyBuckets, row: BilledRow): void => {
  const flow = rowFlowOf(row)
  const parts = cutAtEdges(sums.edges, row, row)
  const records = sums.records[flow]
  for (const { bucket } of parts) records[bucket] = (records[bucket] as number) + 1
  const [only] = parts
  if (only === undefined) return
  if (row.cost !== null) {
    const bucket = only.end - only.start === row.end - row.start ? only.bucket : null
    for (const piece of row.pieces) addPiece(sums, row, flow, piece as BilledPiece, bucket)
  } else if (isInLines(flow)) {
    for (const piece of row.pieces.length === 0 ? [row] : row.pieces)
      for (const part of cutAtEdges(sums.edges, piece, row))
        addConfidence(sums, 0, shareWithin(piece.energy, piece, part), part.end - part.start)
  }
}

/** Sums of a component over some buckets. `tariffId` and `price` as in a bucket; `prices` by rising price. */
type ComponentTotal = {
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
  const used = within.filter(({ isIdle }) => !isIdle)
  const decisive = used.length > 0 ? used : within
  return {
    energy: within.reduce((sum, { energy }) => sum + energy, 0n),
    amount: within.reduce((sum, { amount }) => sum + amount, 0n),
    tariffId: onlyOf(decisive.map(({ tariffId }) => tariffId)),
    price: onlyOf(decisive.map(({ price }) => price)),
    prices: detailsOf(within),
  }
}
