import type { PricedEnergy } from '../contract/answer-field.ts'
import type { ApiVersion } from '../contract/api-version.ts'
import { type InstantCost, type instantCost, instantCostToWire } from '../contract/costs/instant-cost.ts'
import { isJsonObject } from '../contract/json/json-path.ts'
import { parseJson } from '../contract/json/strict-json.ts'
import { readMeterRecord } from '../contract/metering/meter-record.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { tariffListUrl } from '../contract/tariffs/tariff.ts'
import { type AnswerOffset, answerOffset } from '../domain/answer-offset.ts'
import { costByDay } from '../domain/cost/cost-record.ts'
import { readInstant, writeInstant } from '../domain/instant.ts'
import { divideHalfEven } from '../domain/quantity.ts'
import { refusePower } from '../domain/record/reading-rules.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { isImplausible } from '../domain/record/warnings.ts'
import { type Refusal, refused } from '../domain/refusal.ts'
import type { Location } from '../domain/registry/location.ts'
import { firstUnpriced } from '../domain/tariff/evaluate.ts'
import { refuseMissingTariff } from '../domain/tariff/missing-tariff.ts'
import { isTariffPending, refusePendingTariff } from '../domain/tariff/pending-tariff.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowOfRecord } from '../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import { Failure } from '../platform/failure.ts'
import type { Log } from '../platform/log/log.ts'
import { rowVersionOf } from '../platform/log/row-version.ts'
import { isCommitted, poll, waitForRecords } from '../platform/log/stored-records.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { CachedPricing, PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { recordIdDigits } from '../record-bytes/record-id.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import { countedBefore, dependsOnOtherRecords } from './counted-before.ts'
import { findPartition, type KnownObjects, noLocation } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { withObjectIds } from './named-objects.ts'
import type { GatewayCounters } from './record-entrance.ts'
import { writeLimit } from './write-limit.ts'

export type InstantCostDependencies = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly writer: ChunkWriter
  readonly pricing: PricingCache
  readonly clickHouse: ClickHouse
  readonly log: Pick<Log, 'lag'>
  readonly counts: GatewayCounters
  /** Read the current form of a location; null if there is none. */
  readonly locationOf: (tenant: Tenant, id: string) => Promise<Location | null>
  /** Maximum time to wait for the partition, in ms. */
  readonly waitMs?: number
}

type Request = RequestOf<typeof instantCost>

/** Valid record with all that its price depends on. */
type RecordToPrice = {
  readonly tenant: Tenant
  readonly record: MeterRecord
  readonly recordId: string
  readonly partition: number
  readonly cachedPricing: CachedPricing
  readonly at: number
  readonly signal: AbortSignal
}

const defaultWaitMs = 5_000

const withWriteLimit = writeLimit()

/**
 * Price one record with the newest prices in PostgreSQL. Store it through its partition, unless it is non_persistent.
 * With tiers, it counts after all records of the location that were acknowledged before. An estimate loses the energy
 * that actuals cover.
 * Any other record costs the price of the snapshot.
 * Refuses the same as `readMeterRecord`, unknown objects, and a record without tariff or price; then nothing is stored.
 * Throws `Failure` if a store is unavailable, and `lane_behind` if the records that it depends on are not stored in
 * time.
 * Source: docs/rules/metering.md #instant-cost.
 */
export const calculateInstantCost =
  (dependencies: InstantCostDependencies) =>
  async (request: Request): Promise<Outcome<AnswerOf<typeof instantCost>>> => {
    const { body, apiVersion, at, caller, query, signal } = request
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const element = parseJson(body.bytes)
    if (!element.ok) return element
    const read = readMeterRecord(element.value, apiVersion, at)
    if (!read.ok) return read
    const named = await withObjectIds(tenant, read.value, dependencies.references.find)
    if (!named.ok) return named
    const record = named.value
    const partition = await findPartition(dependencies.known, tenant, record, at)
    if (!partition.ok) return partition
    const rule = dependencies.known.ruleOf(tenant, record.deviceId ?? record.locationId, at)
    const power = refusePower(rule, record)
    if (power !== null) return { ok: false, refusal: power }
    const pricingRequest = { ...tenant, locationId: record.locationId, from: record.start }
    const cachedPricing = (await dependencies.pricing.gatherNewest([pricingRequest])).get(record.locationId)
    if (cachedPricing === undefined) return noLocation
    const offsetOf = answerOffset(cachedPricing.snapshot.timeZone, requestedOffset(element.value))
    const unpriced = await refuseUnpriced(cachedPricing, record, apiVersion, offsetOf)
    if (unpriced !== null)
      return { ok: false, refusal: await orPendingTariff(dependencies, unpriced, tenant, record, at) }
    const recordId = recordIdDigits(tenant, record)
    const recordToPrice: RecordToPrice = {
      tenant,
      record,
      recordId,
      partition: partition.value,
      cachedPricing,
      at,
      signal,
    }
    const recordPrice = query.non_persistent
      ? await simulate(dependencies, recordToPrice)
      : await storeAndPrice(dependencies, recordToPrice)
    const warned = isImplausible(rule, record)
    if (!query.non_persistent) {
      dependencies.counts.bytes(body.bytes.length)
      if (warned) dependencies.counts.warned('implausible_energy', 1)
    }
    const choice = {
      nonPersistent: query.non_persistent,
      includeTariff: query.include_tariff,
      includeCarbon: query.include_carbon,
    }
    const { currencyCode } = cachedPricing.snapshot
    const answer: InstantCost = {
      ...tenant,
      id: `mre_${recordId}`,
      currencyCode,
      record,
      price: recordPrice,
      isImplausible: warned,
      sentRecord: element.value,
      apiVersion,
      options: choice,
      offsetOf,
      createdAt: at,
    }
    return { ok: true, value: instantCostToWire(answer) }
  }

/** Return the refusal of a record without a tariff or price; null if it has a price. Tiers do not matter here. */
const refuseUnpriced = (
  { snapshot }: CachedPricing,
  record: MeterRecord,
  apiVersion: ApiVersion,
  offsetOf: AnswerOffset,
): Refusal | null => {
  const { start, end, tariffDirection } = record
  const gap = firstUnpriced(snapshot, tariffDirection, start, end)
  if (gap === null) return null
  const at = writeInstant(gap.start, offsetOf(gap.start))
  if (gap.missing === 'MARKET_PRICE')
    return refused('no_price_data', `There is no market price for ${tariffDirection} at ${at}`).refusal
  return refuseMissingTariff(snapshot, tariffDirection, gap.start, { path: tariffListUrl(apiVersion), offsetOf })
}

/** Replace the refusal if the provider has not delivered the tariff yet. */
const orPendingTariff = async (
  { locationOf }: InstantCostDependencies,
  unpriced: Refusal,
  tenant: Tenant,
  { locationId, tariffDirection }: MeterRecord,
  at: number,
): Promise<Refusal> => {
  const location = unpriced.code === 'no_tariff_connected' ? await locationOf(tenant, locationId) : null
  return location !== null && isTariffPending(location, tariffDirection, at)
    ? refusePendingTariff(tariffDirection)
    : unpriced
}

const simulate = async (
  { clickHouse, log, waitMs = defaultWaitMs }: InstantCostDependencies,
  recordToPrice: RecordToPrice,
): Promise<PricedEnergy> => {
  const { tenant, record, partition, cachedPricing, signal } = recordToPrice
  if (!dependsOnOtherRecords(cachedPricing.snapshot, record))
    return runInTimeSlices(costByDay(cachedPricing.snapshot, record), tenant.accountId)
  if (!(await waitForRecords(log, partition, waitMs, signal))) throw workerBehind('Send the request again.')
  await clickHouse.catchUp()
  return costWithOtherRecords(clickHouse, recordToPrice)
}

const costWithOtherRecords = async (
  clickHouse: ClickHouse,
  { tenant, cachedPricing, record, recordId }: RecordToPrice,
): Promise<PricedEnergy> => {
  const { counted, covered } = await countedBefore(clickHouse, tenant, cachedPricing.snapshot, record, recordId)
  return runInTimeSlices(costByDay(cachedPricing.snapshot, record, counted, covered), tenant.accountId)
}

const storeAndPrice = async (
  dependencies: InstantCostDependencies,
  recordToPrice: RecordToPrice,
): Promise<PricedEnergy> => {
  const { tenant, record, recordId, partition, cachedPricing, at, signal } = recordToPrice
  const part = { ...tenant, batchId: null, receivedAt: at, records: [{ ...record, recordId, recordNumber: 1 }] }
  const written = await withWriteLimit(limit => dependencies.writer.write(new Map([[partition, part]]), limit))
  const position = written.get(partition)
  if (!dependsOnOtherRecords(cachedPricing.snapshot, record))
    return runInTimeSlices(costByDay(cachedPricing.snapshot, record), tenant.accountId)
  if (position === undefined) throw new Error('A record was written without a position.')
  const version = rowVersionOf(position.generation, position.offset, position.position)
  const row = await poll(
    async () => {
      if (!(await isCommitted(dependencies.log, partition, position.offset + 1))) return null
      const found = await rowOfRecord(dependencies.clickHouse, tenant, recordId)
      return found !== null && found.version >= version ? found : null
    },
    dependencies.waitMs ?? defaultWaitMs,
    signal,
  )
  if (row === null) throw workerBehind('The record is accepted. Send the request again to get its cost.')
  return hasNewestPrices(row, cachedPricing)
    ? priceOf(row)
    : costWithOtherRecords(dependencies.clickHouse, recordToPrice)
}

/**
 * Return whether a row has the newest prices. A price change for another time increases the revisions and does not
 * change the row; a price change for its time writes the row again later. Both leave the records that it depends on as
 * they are, so the price can be calculated now.
 */
const hasNewestPrices = (row: MeterCostRow, cachedPricing: CachedPricing): boolean =>
  row.pricingRevision >= cachedPricing.revision && row.priceRevision >= cachedPricing.priceRevision

/** Return the price of a row. The confidences of record and price are in 1e-6, their product is in 1e-4. */
const priceOf = ({ energy, cost, recordConfidence, confidence }: MeterCostRow): PricedEnergy => ({
  energy,
  cost,
  confidence: Number(divideHalfEven(BigInt(recordConfidence) * BigInt(confidence), 100_000_000n)),
})

const workerBehind = (advice: string): Failure =>
  new Failure('lane_behind', `The records before this one are not stored yet. ${advice}`, { retriable: true })

/** Offset (minutes) in which the caller wrote end_time. */
const requestedOffset = (element: unknown): number => {
  const written = isJsonObject(element) ? element['end_time'] : undefined
  const read = typeof written === 'string' ? readInstant(written, 'end_time') : null
  return read?.ok === true ? read.value.offsetMinutes : 0
}
