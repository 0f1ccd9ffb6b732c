import { costByDay, costRecord, type RecordCost } from '../domain/cost/cost-record.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import { type AccumulatorChange, type AccumulatorCounts, compareSortKeys } from '../domain/tariff/accumulator.ts'
import { hasTieredPrices } from '../domain/tariff/snapshot.ts'
import { type PiecePacker, piecePacker } from '../platform/clickhouse/encoding/packed-pieces.ts'
import type { CostPiece, MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { Assignment, StoredMessage } from '../platform/log/log.ts'
import type { AcceptedRecord, RecordPart } from '../platform/log/messages.ts'
import type { CachedPricing } from '../platform/pricing-cache/pricing-cache.ts'

/** A record to be costed: `version` is that of what causes it to be costed now, `sourceVersion` that of the message it came with. */
export type RecordToCost = {
  /** A stored row does not tell its number. */
  readonly record: Omit<AcceptedRecord, 'recordNumber'> & { readonly recordNumber?: number }
  readonly part: Pick<RecordPart, 'accountId' | 'liveMode' | 'batchId' | 'receivedAt'>
  readonly version: bigint
  readonly sourceVersion: bigint
  /** The message it came with; null for one that is read back from the store. */
  readonly origin: MessageOrigin | null
  /** Only an interval of a register has it: true when the interval exists no more. */
  readonly isWithdrawn?: boolean
}

/** Where a message was read. */
export type MessageOrigin = {
  readonly assignment: Pick<Assignment, 'topic' | 'partition'>
  readonly message: StoredMessage
}

const fullPriceConfidence = 1_000_000
/** Confidences of prices are kept in 1e-6, the domain gives 1e-4. */
const confidenceFactor = 100

const pieceOf = ({ start, energy, price, tier, cost, confidence }: RecordCost['pieces'][number]): CostPiece => ({
  start,
  energy,
  price,
  tier,
  cost,
  confidence: confidence * confidenceFactor,
})

/** A part of a row without a price. */
const unpricedPieceOf = ({ start, energy }: RecordCost['cuts'][number]): CostPiece => ({
  ...{ start, energy },
  ...{ price: 0n, tier: 0n, cost: 0n, confidence: 0 },
})

const noSources: readonly string[] = []

const sourcesOf = (cachedPricing: CachedPricing, { record }: RecordToCost): readonly string[] => {
  if (record.tariffDirection === 'LOCAL') return noSources
  const source = record.tariffDirection === 'EXPORT' ? cachedPricing.exportSourceId : cachedPricing.importSourceId
  return source === null ? noSources : [source]
}

/** Lay out a record and its cost as the row that is stored. */
export const rowOf = (entry: RecordToCost, cost: RecordCost, cachedPricing: CachedPricing): MeterCostRow => {
  const { record, part, version, sourceVersion } = entry
  const confidence = cost.priceConfidence
  return {
    accountId: part.accountId,
    liveMode: part.liveMode,
    locationId: record.locationId,
    deviceId: record.deviceId,
    energyFlowDirection: record.energyFlowDirection,
    tariffDirection: record.tariffDirection,
    start: record.start,
    end: record.end,
    recordId: record.recordId,
    sessionReferenceId: record.sessionReferenceId,
    recordReferenceId: record.recordReferenceId,
    energy: cost.energy,
    energySubmitted: cost.energy === record.energy ? null : record.energy,
    recordConfidence: record.confidence,
    status: cost.status === 'UNPRICED' ? 'UNPRICED' : confidence < fullPriceConfidence ? 'PROVISIONAL' : 'PRICED',
    cost: cost.cost,
    currency: cachedPricing.snapshot.currencyCode,
    confidence,
    pieces: cost.status === 'UNPRICED' ? cost.cuts.map(unpricedPieceOf) : cost.pieces.map(pieceOf),
    tariffIds: cost.tariffIds,
    marketSourceIds: sourcesOf(cachedPricing, entry),
    pricingRevision: cachedPricing.revision,
    priceRevision: cachedPricing.priceRevision,
    batchId: part.batchId,
    version,
    sourceVersion,
    receivedAt: part.receivedAt,
    isDeleted: entry.isWithdrawn === true,
  }
}

/** Tell whether what a record costs depends on the records before it. */
export const isCounted = (cachedPricing: CachedPricing, { record }: RecordToCost): boolean =>
  hasTieredPrices(cachedPricing.snapshot, record.tariffDirection)

/** Cost a record that stands alone. */
export const costAlone = (entry: RecordToCost, cachedPricing: CachedPricing): MeterCostRow =>
  rowOf(entry, costRecord(cachedPricing.snapshot, entry.record), cachedPricing)

/** A longer record is costed day by day, because it may have very many pieces. */
const longRecordMs = 2 * 86_400_000
/** More pieces than this are packed as they come. */
const maxUnpackedPieces = 2_000

export const isLong = ({ record: { start, end } }: RecordToCost): boolean => end - start > longRecordMs

/**
 * Cost a record, and give its row and what it adds to accumulators. Gives null after each day of a long record: others may run then.
 * Many pieces come packed. `counted` and `covered`: see `costRecord`.
 */
export function* costInSteps(
  entry: RecordToCost,
  cachedPricing: CachedPricing,
  counted?: AccumulatorCounts,
  covered?: readonly Interval[],
): Generator<null, { readonly row: MeterCostRow; readonly changes: readonly AccumulatorChange[] }, undefined> {
  if (!isLong(entry)) {
    const cost = costRecord(cachedPricing.snapshot, entry.record, counted, covered)
    return { row: rowOf(entry, cost, cachedPricing), changes: cost.accumulatorChanges }
  }
  const days = costByDay(cachedPricing.snapshot, entry.record, counted, covered)
  let pieces: CostPiece[] = []
  let packer: PiecePacker | null = null
  let next = days.next()
  for (; next.done !== true; next = days.next()) {
    for (const piece of next.value) pieces.push(pieceOf(piece))
    if (pieces.length >= maxUnpackedPieces) {
      packer ??= piecePacker()
      packer.add(pieces)
      pieces = []
    }
    yield null
  }
  const { value: cost } = next
  const row = rowOf(entry, cost, cachedPricing)
  if (cost.status === 'UNPRICED') return { row, changes: cost.accumulatorChanges }
  packer?.add(pieces)
  return {
    row: packer === null ? { ...row, pieces } : { ...row, packed: packer.packed() },
    changes: cost.accumulatorChanges,
  }
}

/** Order records as accumulators count them: start, end, record id. */
export const inCountingOrder = (a: RecordToCost, b: RecordToCost): number =>
  compareSortKeys(a.record, b.record, Number.NEGATIVE_INFINITY)
