import { costByDay, costRecord, type RecordCost } from '../domain/cost/cost-record.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import { countsEnergy } from '../domain/tariff/snapshot.ts'
import { compareInCount, type TierCounts, type TierMove } from '../domain/tariff/tier-count.ts'
import type { CostPiece, MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { type PiecePacker, piecePacker } from '../platform/clickhouse/packed-pieces.ts'
import type { Lane, StoredMessage } from '../platform/log/log.ts'
import type { AcceptedRecord, RecordPart } from '../platform/log/messages.ts'
import type { HeldPricing } from '../platform/pricing-book.ts'

/** A record to be costed: `version` is that of what causes it to be costed now, `sourceVersion` that of the message it came with. */
export type LaneRecord = {
  /** A stored row does not tell its number. */
  readonly record: Omit<AcceptedRecord, 'recordNumber'> & { readonly recordNumber?: number }
  readonly part: Pick<RecordPart, 'accountId' | 'liveMode' | 'batchId' | 'receivedAt'>
  readonly version: bigint
  readonly sourceVersion: bigint
  /** The message it came with; null for one that is read back from the store. */
  readonly origin: Origin | null
  /** Only an interval of a register has it: true when the interval exists no more. */
  readonly isWithdrawn?: boolean
}

/** Where a message was read. */
export type Origin = { readonly lane: Pick<Lane, 'topic' | 'partition'>; readonly message: StoredMessage }

const wholePrice = 1_000_000
/** Confidences of prices are kept in 1e-6, the domain gives 1e-4. */
const finer = 100

const pieceOf = ({ start, energy, price, tier, cost, confidence }: RecordCost['pieces'][number]): CostPiece => ({
  start,
  energy,
  price,
  tier,
  cost,
  confidence: confidence * finer,
})

/** A part of a row without a price. */
const unpricedPieceOf = ({ start, energy }: RecordCost['cuts'][number]): CostPiece => ({
  ...{ start, energy },
  ...{ price: 0n, tier: 0n, cost: 0n, confidence: 0 },
})

const noSources: readonly string[] = []

const sourcesOf = (held: HeldPricing, { record }: LaneRecord): readonly string[] => {
  if (record.tariffDirection === 'LOCAL') return noSources
  const source = record.tariffDirection === 'EXPORT' ? held.exportSourceId : held.importSourceId
  return source === null ? noSources : [source]
}

/** Lay out a record and its cost as the row that is stored. */
export const rowOf = (entry: LaneRecord, cost: RecordCost, held: HeldPricing): MeterCostRow => {
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
    status: cost.status === 'UNPRICED' ? 'UNPRICED' : confidence < wholePrice ? 'PROVISIONAL' : 'PRICED',
    cost: cost.cost,
    currency: held.snapshot.currencyCode,
    confidence,
    pieces: cost.status === 'UNPRICED' ? cost.cuts.map(unpricedPieceOf) : cost.pieces.map(pieceOf),
    tariffIds: cost.tariffIds,
    marketSourceIds: sourcesOf(held, entry),
    pricingRevision: held.revision,
    priceRevision: held.priceRevision,
    batchId: part.batchId,
    version,
    sourceVersion,
    receivedAt: part.receivedAt,
    isDeleted: entry.isWithdrawn === true,
  }
}

/** Tell whether what a record costs depends on the records before it. */
export const isCounted = (held: HeldPricing, { record }: LaneRecord): boolean => countsEnergy(held.snapshot, record.tariffDirection)

/** Cost a record that stands alone. */
export const settleAlone = (entry: LaneRecord, held: HeldPricing): MeterCostRow =>
  rowOf(entry, costRecord(held.snapshot, entry.record), held)

/** A longer record is costed day by day, because it may have very many pieces. */
const longMs = 2 * 86_400_000
/** More pieces than this are packed as they come. */
const maxUnpacked = 2_000

export const isLong = ({ record: { start, end } }: LaneRecord): boolean => end - start > longMs

/**
 * Cost a record, and give its row and what it adds to accumulators. Gives null after each day of a long record: others may run then.
 * Many pieces come packed. `counted` and `covered`: see `costRecord`.
 */
export function* settleInTurns(
  entry: LaneRecord,
  held: HeldPricing,
  counted?: TierCounts,
  covered?: readonly Interval[],
): Generator<null, { readonly row: MeterCostRow; readonly moves: readonly TierMove[] }, undefined> {
  if (!isLong(entry)) {
    const cost = costRecord(held.snapshot, entry.record, counted, covered)
    return { row: rowOf(entry, cost, held), moves: cost.moves }
  }
  const days = costByDay(held.snapshot, entry.record, counted, covered)
  let pieces: CostPiece[] = []
  let packer: PiecePacker | null = null
  let next = days.next()
  for (; next.done !== true; next = days.next()) {
    for (const piece of next.value) pieces.push(pieceOf(piece))
    if (pieces.length >= maxUnpacked) {
      packer ??= piecePacker()
      packer.add(pieces)
      pieces = []
    }
    yield null
  }
  const { value: cost } = next
  const row = rowOf(entry, cost, held)
  if (cost.status === 'UNPRICED') return { row, moves: cost.moves }
  packer?.add(pieces)
  return { row: packer === null ? { ...row, pieces } : { ...row, packed: packer.packed() }, moves: cost.moves }
}

/** Order records as accumulators count them: start, end, record id. */
export const byCount = (a: LaneRecord, b: LaneRecord): number => compareInCount(a.record, b.record, Number.NEGATIVE_INFINITY)
