import type { CostPiece } from '../domain/cost/cost-piece.ts'
import { costByDay, costRecord, type RecordCost, statusOf } from '../domain/cost/cost-record.ts'
import type { Interval } from '../domain/interval.ts'
import type { VersionedRecord } from '../domain/recost/change-set.ts'
import type { AccumulatorChange, AccumulatorCounts } from '../domain/tariff/accumulator.ts'
import { hasTieredPrices } from '../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import { type PiecePacker, piecePacker } from '../platform/clickhouse/encoding/packed-pieces.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { Assignment, StoredMessage } from '../platform/log/log.ts'
import type { CachedPricing } from '../platform/pricing-cache/pricing-cache.ts'
import type { RecordPart } from '../record-bytes/accepted-record.ts'

/** Record to cost: a new one with its message, or a stored one. See `VersionedRecord` for the versions. */
export type RecordToCost = VersionedRecord & {
  /** A stored row has no record number. */
  readonly record: VersionedRecord['record'] & { readonly recordNumber?: number }
  readonly part: Pick<RecordPart, 'accountId' | 'liveMode' | 'batchId' | 'receivedAt'>
  /** Message that brought the record; null for a stored record. */
  readonly origin: MessageOrigin | null
  /** Earlier forms of the record in the same step, in any order. Corrections name them. */
  readonly superseded?: RecordToCost[]
}

/** Partition and message that a record, reading or request came from. */
export type MessageOrigin = {
  readonly assignment: Pick<Assignment, 'topic' | 'partition'>
  readonly message: StoredMessage
}

const noSources: readonly string[] = []

/** Return the market source of the prices of a direction, if there is one. */
export const sourcesOf = (cachedPricing: CachedPricing, direction: TariffDirection): readonly string[] => {
  if (direction === 'LOCAL') return noSources
  const source = direction === 'EXPORT' ? cachedPricing.exportSourceId : cachedPricing.importSourceId
  return source === null ? noSources : [source]
}

/** Return the row of a record and its cost. */
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
    status: statusOf(cost),
    cost: cost.cost,
    currency: cachedPricing.snapshot.currencyCode,
    confidence,
    pieces: cost.pieces,
    tariffIds: cost.tariffIds,
    marketSourceIds: sourcesOf(cachedPricing, record.tariffDirection),
    pricingRevision: cachedPricing.revision,
    priceRevision: cachedPricing.priceRevision,
    batchId: part.batchId,
    version,
    sourceVersion,
    receivedAt: part.receivedAt,
    isDeleted: entry.isWithdrawn === true,
  }
}

/** Return whether the cost of a record depends on the energy of the records before it. */
export const isCounted = (cachedPricing: CachedPricing, { record }: RecordToCost): boolean =>
  hasTieredPrices(cachedPricing.snapshot, record.tariffDirection)

/** Cost a record that depends on no other record. */
export const costAlone = (entry: RecordToCost, cachedPricing: CachedPricing): MeterCostRow =>
  rowOf(entry, costRecord(cachedPricing.snapshot, entry.record), cachedPricing)

/** A longer record is costed day by day, because it can have very many pieces. */
const longRecordMs = 2 * 86_400_000
/** Pieces that are kept as objects; more are packed while the record is costed. */
const maxUnpackedPieces = 2_000

export const isLong = ({ record: { start, end } }: RecordToCost): boolean => end - start > longRecordMs

/**
 * Cost a record. Return its row and its accumulator changes. Yields null after each day of a long record, so that other
 * work can run.
 * The row has packed pieces if they are many. `counted` and `covered`: see `costRecord`.
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
    for (const piece of next.value) pieces.push(piece)
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
