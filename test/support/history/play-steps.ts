import { hash } from 'node:crypto'
import { createSettler, type Settler } from '../../../services/cost-worker/settle-step.ts'
import { pricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../services/domain/tariff/tariff.ts'
import { changedSpan } from '../../../services/domain/tariff/tariff-change.ts'
import { withVersion } from '../../../services/domain/tariff/tariff-version.ts'
import { recordIdDigits } from '../../../services/ingest-gateway/record-id.ts'
import { registerIdDigits } from '../../../services/ingest-gateway/register-id.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/meter-cost-block.ts'
import { rowsOfSpan, type Tenant } from '../../../services/platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost-row.ts'
import { encodeMeterReadings, meterReadingColumns } from '../../../services/platform/clickhouse/meter-readings.ts'
import { versionOf } from '../../../services/platform/log/version.ts'
import type { HeldPricing, PricingBook } from '../../../services/platform/pricing-book.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { seededRandom } from '../fuzz/random.ts'
import { decimal } from '../ledger/exact-decimal.ts'
import { oneByOne, type Request } from './arrivals.ts'
import { flows, type History, instant, readingName, type TariffStep } from './history.ts'
import { expectedState, inputOf } from './judge-history.ts'
import { differences, type StoredState } from './stored-state.ts'

type Records = Parameters<Settler['settle']>[0]['records']
type LaneRecord = Records extends ReadonlyMap<string, readonly (infer One)[]> ? One : never
type LaneReading = Parameters<Settler['settle']>[0]['readings'][number]
type LaneOrder = Parameters<Settler['settle']>[0]['orders'][number]

/** A history at a location of its own: what is left to send, and its tariffs so far. */
type Place = {
  readonly history: History
  readonly locationId: string
  readonly requests: Request[]
  tariffs: readonly Tariff[]
  changes: number
}

/** What one step brings. */
type Arriving = { readonly records: Map<string, readonly LaneRecord[]>; readonly readings: LaneReading[]; readonly orders: LaneOrder[] }

const deviceIds = [1, 2, 3].map(number => hexId('dev_', number))
const deviceOf = (device: number | null): string | null => (device === null ? null : (deviceIds[device] ?? null))
const lane = { topic: 'meter.records.v1', partition: 0 } as const
const receivedAt = Date.UTC(2026, 0, 1)

/** A tariff by an id that rows can hold. */
const storable = (tariff: Tariff): Tariff => ({ ...tariff, id: `trf_${hash('sha256', tariff.id, 'hex').slice(0, 24)}` })

const changedBy = (step: TariffStep, before: Tariff | null): Tariff | null => {
  if (step.kind === 'create') return step.tariff
  if (step.kind === 'void' || before === null) return null
  return step.kind === 'reprice' ? withVersion(before, step.version) : { ...before, contractEnd: step.contractEnd }
}

const afterStep = (tariffs: readonly Tariff[], step: TariffStep) => {
  const id = step.kind === 'create' ? step.tariff.id : step.id
  const before = tariffs.find(tariff => tariff.id === id) ?? null
  const after = changedBy(step, before)
  const others = tariffs.filter(tariff => tariff.id !== id)
  return { tariffs: after === null ? others : [...others, after], span: changedSpan(before, after, others) }
}

const rowNameOf = (row: MeterCostRow): string => {
  const { sessionReferenceId: session, recordReferenceId: reference, energyFlowDirection: flow, tariffDirection: direction } = row
  const device = row.deviceId === null ? null : deviceIds.indexOf(row.deviceId)
  return `${reference} device ${device} session ${session} ${flow} ${direction} ${instant(row.start)} ${instant(row.end)}`
}

const rowTextOf = ({ energy, energySubmitted, cost, pieces, end }: MeterCostRow): string =>
  JSON.stringify([
    ...[decimal(energy, 6), decimal(energySubmitted ?? energy, 6), cost === null ? null : decimal(cost, 9)],
    (cost === null ? [] : pieces).map((piece, index) => [
      ...[instant(piece.start), instant(pieces[index + 1]?.start ?? end), decimal(piece.energy, 6), decimal(piece.price, 9)],
      ...[decimal(piece.tier, 9), decimal(piece.cost, 9), String(piece.confidence / 1e6)],
    ]),
  ])

/** Turn a request of a history into what a lane brings. */
const arrive = (place: Place, request: Request, tenant: Tenant, offset: number, arriving: Arriving): void => {
  const { locationId } = place
  const origin = { lane, message: { key: locationId, value: Buffer.alloc(0), headers: {}, offset, timestamp: receivedAt } }
  const part = { ...tenant, batchId: null, receivedAt }
  const at = (position: number) => {
    const version = versionOf(1, offset, position)
    return { version, sourceVersion: version }
  }
  if (request.kind === 'records') {
    const records = request.records.map(({ record: { device, flow, session, name, start, end }, form }, position): LaneRecord => {
      const place = {
        locationId,
        deviceId: deviceOf(device),
        ...flows[flow],
        start,
        end,
        sessionReferenceId: session,
        recordReferenceId: name,
      }
      return {
        record: { ...place, ...form, recordId: recordIdDigits(tenant, place), recordNumber: position + 1 },
        part,
        ...at(position),
        origin,
      }
    })
    arriving.records.set(locationId, records)
  } else if (request.kind === 'readings') {
    const { register } = request
    const object = { ...tenant, locationId, deviceId: deviceOf(register.device), ...flows[register.flow] }
    for (const [position, { reading, value }] of request.readings.entries()) {
      const recordId = registerIdDigits({ ...object, openedAt: reading.time })
      const references = { sessionReferenceId: register.session, recordReferenceId: readingName(register, reading) }
      const row = {
        ...object,
        time: reading.time,
        value,
        recordId,
        ...references,
        batchId: null,
        recordNumber: position + 1,
        receivedAt,
        ...at(position),
      }
      arriving.readings.push({ row, origin })
    }
  } else {
    place.changes += 1
    const { tariffs, span } = request.kind === 'tariff' ? afterStep(place.tariffs, request.step) : { tariffs: place.tariffs, span: null }
    place.tariffs = tariffs
    if (span === null) return
    const kind = { kind: 'order' as const, orderKind: 'RE_PRICE' as const, orderId: `order-${offset}`, ...tenant }
    const nothing = { sourceId: null, priceRevision: null, objectId: null, detail: '' }
    const order = { ...kind, locationIds: [locationId], locationRevision: place.changes, ...span, ...nothing }
    arriving.orders.push({ order, version: at(0).version, origin })
  }
}

/** Prices of the places as they are by now; a market's prices are known from the beginning. */
const pricingOf = (places: ReadonlyMap<string, Place>, { accountId }: Tenant): PricingBook => {
  const made = new Map<string, HeldPricing>()
  const pool = pricingPool()
  const of = (locationId: string): HeldPricing | undefined => {
    const place = places.get(locationId)
    if (place === undefined) return undefined
    const known = made.get(locationId)
    if (known !== undefined && known.revision === place.changes) return known
    const input = {
      ...inputOf(place.history),
      locationId,
      timeZone: timeZone(place.history.zone) ?? inputOf(place.history).timeZone,
      tariffs: place.tariffs.map(storable),
    }
    const snapshot = compileSnapshot(input, pool)
    const held = { snapshot, accountId, revision: place.changes, priceRevision: 0n, importSourceId: null, exportSourceId: null }
    made.set(locationId, held)
    return held
  }
  const gather: PricingBook['gather'] = async asks =>
    new Map(asks.flatMap(({ locationId }) => (of(locationId) === undefined ? [] : [[locationId, of(locationId) as HeldPricing] as const])))
  const nothing = (): void => undefined
  return { faultOf: () => undefined, held: of, gather, gatherNewest: gather, raiseLocation: nothing, raiseSource: nothing, drop: nothing }
}

const store = async (db: ClickHouse, rows: readonly MeterCostRow[]): Promise<void> => {
  if (rows.length > 0) await db.insert(meterCostBlock(rows))
}

const settleStep = async (db: ClickHouse, settler: Settler, arriving: Arriving): Promise<void> => {
  const settled = await settler.settle(arriving, { stored: Promise.resolve(), store: rows => store(db, rows), canPutBack: false })
  if (settled.poison.length + settled.failedOrders.length > 0) {
    throw new Error([...settled.poison, ...settled.failedOrders].map(({ reason }) => reason).join('; '))
  }
  await store(db, settled.rows)
  if (settled.readings.length === 0) return
  await db.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes: encodeMeterReadings(settled.readings) })
}

/** Compare what is stored of a place with the exact calculation. */
const faultsOf = async (db: ClickHouse, tenant: Tenant, { history, locationId }: Place): Promise<readonly string[]> => {
  const always = { from: 0, to: Date.UTC(2100, 0, 1) }
  const rows = (await Array.fromAsync(rowsOfSpan(db, tenant, { locationIds: [locationId] }, always))).flat()
  const wanted = expectedState(history, new Map(rows.map(row => [rowNameOf(row), row.recordId])))
  const found: StoredState = new Map(rows.map(row => [rowNameOf(row), rowTextOf(row)]))
  return differences(wanted, found, ['exact', 'stored'])
}

/**
 * Play histories side by side through the costing of the worker, on a real engine: each request is costed and stored before the next one
 * of its history. The worker forgets all that it has cached now and then. Return the faults of each history, in their order.
 */
export const playSteps = async (db: ClickHouse, tenant: Tenant, histories: readonly History[]): Promise<readonly (readonly string[])[]> => {
  const places = new Map<string, Place>()
  for (const [index, history] of histories.entries()) {
    const requests = oneByOne(history).flatMap(wave => wave.requests)
    const locationId = hexId('loc_', index + 1)
    places.set(locationId, { history, locationId, requests, tariffs: [], changes: 1 })
  }
  const settler = createSettler(db, pricingOf(places, tenant))
  const random = seededRandom(histories[0]?.seed ?? 0)
  for (let offset = 1; [...places.values()].some(({ requests }) => requests.length > 0); ) {
    const arriving: Arriving = { records: new Map(), readings: [], orders: [] }
    for (const place of places.values()) {
      const request = place.requests.shift()
      if (request !== undefined) arrive(place, request, tenant, offset++, arriving)
    }
    if (random.oneIn(12)) settler.drop()
    await settleStep(db, settler, arriving)
  }
  return Promise.all([...places.values()].map(place => faultsOf(db, tenant, place)))
}
