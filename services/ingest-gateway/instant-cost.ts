import { type InstantCost, type instantCost, instantCostToWire, type RecordPrice } from '../contract/instant-cost.ts'
import type { Layout } from '../contract/layout.ts'
import { isMembers } from '../contract/member-path.ts'
import { readMeterRecord } from '../contract/meter-record.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { parseJson } from '../contract/strict-json.ts'
import { tariffListUrl } from '../contract/tariff.ts'
import { type AnswerOffset, answerOffset } from '../domain/answer-offset.ts'
import { costByDay } from '../domain/cost/cost-record.ts'
import { readInstant, writeInstant } from '../domain/instant.ts'
import { divideHalfEven } from '../domain/quantity.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { type Refusal, refused } from '../domain/refusal.ts'
import { firstUnpriced } from '../domain/tariff/evaluate.ts'
import { noTariffConnected } from '../domain/tariff/missing-tariff.ts'
import { isOnItsWay, pendingTariff } from '../domain/tariff/on-its-way.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowOfRecord } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { inTurns } from '../platform/event-loop-turn.ts'
import { Failure } from '../platform/failure.ts'
import type { Log } from '../platform/log/log.ts'
import { versionOf } from '../platform/log/version.ts'
import type { StoredLocation } from '../platform/postgres/location-row.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { HeldPricing, PricingBook } from '../platform/pricing-book.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import { countedBefore, needsOthers } from './counted-before.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { isStored, laneEnd, poll } from './lane-wait.ts'
import { withObjectIds } from './named-objects.ts'
import { recordIdDigits } from './record-id.ts'
import type { GatewayCounts } from './submit-interval.ts'

export type CalculateInstantCost = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly writer: ChunkWriter
  readonly pricing: PricingBook
  readonly clickHouse: ClickHouse
  readonly log: Pick<Log, 'lag'>
  readonly counts: GatewayCounts
  /** Read a location as it is now; null when there is none. */
  readonly locationOf: (tenant: Tenant, id: string) => Promise<StoredLocation | null>
  /** How long the lane is waited for. */
  readonly waitMs?: number
}

type Request = RequestOf<typeof instantCost>

/** A record on its way to its price. */
type Asked = {
  readonly tenant: Tenant
  readonly record: MeterRecord
  readonly recordId: string
  readonly lane: number
  readonly held: HeldPricing
  readonly at: number
  readonly signal: AbortSignal
}

const defaultWaitMs = 5_000

/**
 * Price one record at once, with the newest prices that PostgreSQL has, and store it through its lane unless it is non_persistent.
 * With tiers it counts every record of the location acknowledged before, and an estimate loses what actuals among them cover; the price of
 * any other record is that of the snapshot.
 * Refuses what `readMeterRecord` refuses, unknown objects, and a record without tariff or price, which stores nothing. Throws `Failure`
 * where a store is away, and `lane_behind` where the records that it depends on are not stored in time.
 * Source: docs/rules/metering.md #instant-cost.
 */
export const calculateInstantCost =
  (parts: CalculateInstantCost) =>
  async (request: Request): Promise<Outcome<AnswerOf<typeof instantCost>>> => {
    const { body, layout, at, caller, query, signal } = request
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const element = parseJson(body.bytes)
    if (!element.ok) return element
    const read = readMeterRecord(element.value, layout, at)
    if (!read.ok) return read
    const named = await withObjectIds(tenant, read.value, parts.references.find)
    if (!named.ok) return named
    const record = named.value
    const lane = await findLane(parts.known, tenant, record, at)
    if (typeof lane !== 'number') return { ok: false, refusal: lane }
    const ask = { ...tenant, locationId: record.locationId, from: record.start }
    const held = (await parts.pricing.gatherNewest([ask])).get(record.locationId)
    if (held === undefined) return { ok: false, refusal: noLocation }
    const offsetOf = answerOffset(held.snapshot.timeZone, requestedOffset(element.value))
    const unpriced = await refuseUnpriced(held, record, layout, offsetOf)
    if (unpriced !== null) return { ok: false, refusal: await orPending(parts, unpriced, tenant, record, at) }
    const recordId = recordIdDigits(tenant, record)
    const asked: Asked = { tenant, record, recordId, lane, held, at, signal }
    const price = query.non_persistent ? await simulate(parts, asked) : await store(parts, asked)
    if (!query.non_persistent) parts.counts.bytes(body.bytes.length)
    const choice = { nonPersistent: query.non_persistent, includeTariff: query.include_tariff, includeCarbon: query.include_carbon }
    const { currencyCode } = held.snapshot
    const answer: InstantCost = {
      ...tenant,
      id: `mre_${recordId}`,
      currencyCode,
      record,
      price,
      element: element.value,
      layout,
      choice,
      offsetOf,
      createdAt: at,
    }
    return { ok: true, value: instantCostToWire(answer) }
  }

const noLocation = refused('location_not_found', 'location_id must be the id of a location that exists', 'location_id').refusal
const noDevice = refused('device_not_found', 'device_id must be the id of a device that exists', 'device_id').refusal

const findLane = async (
  known: KnownObjects,
  tenant: Tenant,
  { locationId, deviceId }: MeterRecord,
  at: number,
): Promise<number | Refusal> => {
  const held = known.laneOf(tenant, locationId, at)
  if (held !== undefined && (deviceId === null || known.hasDevice(tenant, deviceId, at))) return held
  const found = await known.ask(tenant, { locations: new Set([locationId]), devices: new Set(deviceId === null ? [] : [deviceId]) }, at)
  const lane = found.get(locationId)?.lane
  if (lane === undefined) return noLocation
  return deviceId === null || found.has(deviceId) ? lane : noDevice
}

/** Say what a record lacks to have a price; null when it has one. Tiers have no say in this. */
const refuseUnpriced = async (
  { snapshot, accountId }: HeldPricing,
  record: MeterRecord,
  layout: Layout,
  offsetOf: AnswerOffset,
): Promise<Refusal | null> => {
  const { start, end, tariffDirection } = record
  const gap = await inTurns(firstUnpriced(snapshot, tariffDirection, start, end), accountId)
  if (gap === null) return null
  const at = writeInstant(gap.start, offsetOf(gap.start))
  if (gap.missing === 'MARKET_PRICE') return refused('no_price_data', `There is no market price for ${tariffDirection} at ${at}`).refusal
  return noTariffConnected(snapshot, tariffDirection, gap.start, { path: tariffListUrl(layout), offsetOf })
}

/** A tariff that is missing may be on its way from its provider: then its prices are waited for. */
const orPending = async (
  { locationOf }: CalculateInstantCost,
  unpriced: Refusal,
  tenant: Tenant,
  { locationId, tariffDirection }: MeterRecord,
  at: number,
): Promise<Refusal> => {
  const location = unpriced.code === 'no_tariff_connected' ? await locationOf(tenant, locationId) : null
  return location !== null && isOnItsWay(location, tariffDirection, at) ? pendingTariff(tariffDirection) : unpriced
}

const simulate = async ({ clickHouse, log, waitMs = defaultWaitMs }: CalculateInstantCost, asked: Asked): Promise<RecordPrice> => {
  const { tenant, record, lane, held, signal } = asked
  if (!needsOthers(held.snapshot, record)) return inTurns(costByDay(held.snapshot, record), tenant.accountId)
  const end = await laneEnd(log, lane)
  const stored = await poll(async () => ((await isStored(log, lane, end)) ? true : null), waitMs, signal)
  if (stored === null) throw laneBehind('ask again')
  await clickHouse.catchUp()
  return costAmongOthers(clickHouse, asked)
}

const costAmongOthers = async (clickHouse: ClickHouse, { tenant, held, record, recordId }: Asked): Promise<RecordPrice> => {
  const { counted, covered } = await countedBefore(clickHouse, tenant, held.snapshot, record, recordId)
  return inTurns(costByDay(held.snapshot, record, counted, covered), tenant.accountId)
}

const store = async (parts: CalculateInstantCost, asked: Asked): Promise<RecordPrice> => {
  const { tenant, record, recordId, lane, held, at, signal } = asked
  const part = { ...tenant, batchId: null, receivedAt: at, records: [{ ...record, recordId, recordNumber: 1 }] }
  const place = (await parts.writer.write(new Map([[lane, part]]))).get(lane)
  if (!needsOthers(held.snapshot, record)) return inTurns(costByDay(held.snapshot, record), tenant.accountId)
  if (place === undefined) throw new Error('a record was written without a place')
  const version = versionOf(place.generation, place.offset, place.position)
  const row = await poll(
    async () => {
      if (!(await isStored(parts.log, lane, place.offset + 1))) return null
      const found = await rowOfRecord(parts.clickHouse, tenant, recordId)
      return found !== null && found.version >= version ? found : null
    },
    parts.waitMs ?? defaultWaitMs,
    signal,
  )
  if (row === null) throw laneBehind('the record is accepted, ask again')
  return isOfNewest(row, held) ? priceOf(row) : costAmongOthers(parts.clickHouse, asked)
}

/**
 * A change of prices elsewhere in time raises the revisions and leaves the row as it is; one of its own time writes the row again once its
 * order has come. The records that it depends on are the same with either, so its price need not be waited for.
 */
const isOfNewest = (row: MeterCostRow, held: HeldPricing): boolean =>
  row.pricingRevision >= held.revision && row.priceRevision >= held.priceRevision

/** Confidences of record and price are stored in 1e-6 each; their product is shown in 1e-4. */
const priceOf = ({ energy, cost, recordConfidence, confidence }: MeterCostRow): RecordPrice => ({
  energy,
  cost,
  confidence: Number(divideHalfEven(BigInt(recordConfidence) * BigInt(confidence), 100_000_000n)),
})

const laneBehind = (advice: string): Failure =>
  new Failure('lane_behind', `the records before this one are not stored yet; ${advice}`, { retriable: true })

/** Offset (minutes) in which the caller wrote end_time. */
const requestedOffset = (element: unknown): number => {
  const written = isMembers(element) ? element['end_time'] : undefined
  const read = typeof written === 'string' ? readInstant(written, 'end_time') : null
  return read?.ok === true ? read.value.offsetMinutes : 0
}
