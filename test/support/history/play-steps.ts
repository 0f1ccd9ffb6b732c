import { hash } from 'node:crypto'
import { type Corrections, storeCorrections } from '../../../services/cost-worker/correction-finder.ts'
import { type CostStep, createCostStep } from '../../../services/cost-worker/cost-step.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../services/domain/tariff/tariff.ts'
import { changedInterval } from '../../../services/domain/tariff/tariff-change.ts'
import { withVersion } from '../../../services/domain/tariff/tariff-version.ts'
import { registerIdDigits } from '../../../services/ingest-gateway/submit-cumulative.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { encodeBlock } from '../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { pageOfCorrections } from '../../../services/platform/clickhouse/meter-cost/corrections.ts'
import { rowsInInterval, type Tenant } from '../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { meterReadingColumns } from '../../../services/platform/clickhouse/readings/meter-readings.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { rowVersionOf } from '../../../services/platform/log/row-version.ts'
import type { CachedPricing, PricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { decimal } from '../ledger/exact-decimal.ts'
import { seededRandom } from '../random.ts'
import { oneByOne, type RecordForm, type Request } from './arrivals.ts'
import { flows, type History, instant, readingName, type TariffStep } from './history.ts'
import { deviceRules, ruleOf } from './register-rules.ts'
import { differences, type StoredState } from './stored-state.ts'
import { expectedState, inputOf } from './verify-history.ts'

type Records = Parameters<CostStep['run']>[0]['records']
type RecordToCost = Records extends ReadonlyMap<string, readonly (infer One)[]> ? One : never
type ReadingToStore = Parameters<CostStep['run']>[0]['readings'][number]
type ReceivedRequest = Parameters<CostStep['run']>[0]['requests'][number]

/** A history with its own location, its unsent requests and its current tariffs. */
type PlayedLocation = {
  readonly history: History
  readonly locationId: string
  readonly requests: Request[]
  /** Newest form of each record, and the corrections that were sent, in order. */
  readonly forms: Map<string, RecordForm['form']>
  readonly corrections: string[]
  tariffs: readonly Tariff[]
  changes: number
}

/** Input of one step of the worker. */
type StepArrivals = {
  readonly records: Map<string, readonly RecordToCost[]>
  readonly readings: ReadingToStore[]
  readonly requests: ReceivedRequest[]
}

const deviceIds = deviceRules.map((_, index) => hexId('dev_', index + 1))
const deviceOf = (device: number | null): string | null => (device === null ? null : (deviceIds[device] ?? null))
const assignment = { topic: recordTopic, partition: 0 } as const
const receivedAt = Date.UTC(2026, 0, 1)

/** Return a tariff with an id that is valid in a stored row. */
const storable = (tariff: Tariff): Tariff => ({ ...tariff, id: `trf_${hash('sha256', tariff.id, 'hex').slice(0, 24)}` })

const tariffAfter = (step: TariffStep, before: Tariff | null): Tariff | null => {
  if (step.kind === 'create') return step.tariff
  if (step.kind === 'void' || before === null) return null
  return step.kind === 'reprice' ? withVersion(before, step.version) : { ...before, contractEnd: step.contractEnd }
}

const afterStep = (tariffs: readonly Tariff[], step: TariffStep) => {
  const id = step.kind === 'create' ? step.tariff.id : step.id
  const before = tariffs.find(tariff => tariff.id === id) ?? null
  const after = tariffAfter(step, before)
  const others = tariffs.filter(tariff => tariff.id !== id)
  return { tariffs: after === null ? others : [...others, after], interval: changedInterval(before, after, others) }
}

const rowNameOf = (row: MeterCostRow): string => {
  const {
    sessionReferenceId: session,
    recordReferenceId: reference,
    energyFlowDirection: flow,
    tariffDirection: direction,
  } = row
  const device = row.deviceId === null ? null : deviceIds.indexOf(row.deviceId)
  return `${reference} device ${device} session ${session} ${flow} ${direction} ${instant(row.start)} ${instant(row.end)}`
}

const rowTextOf = ({ energy, energySubmitted, cost, pieces, end }: MeterCostRow): string =>
  JSON.stringify([
    ...[decimal(energy, 6), decimal(energySubmitted ?? energy, 6), cost === null ? null : decimal(cost, 9)],
    (cost === null ? [] : pieces).map((piece, index) => [
      ...[
        instant(piece.start),
        instant(pieces[index + 1]?.start ?? end),
        decimal(piece.energy, 6),
        decimal(piece.price, 9),
      ],
      ...[decimal(piece.tier, 9), decimal(piece.cost, 9), String(piece.confidence / 1e6)],
    ]),
  ])

/** Position of a request in the simulated partition. */
type Arrived = { readonly tenant: Tenant; readonly locationId: string; readonly offset: number }

const originOf = ({ locationId, offset }: Arrived) => ({
  assignment,
  message: { key: locationId, value: Buffer.alloc(0), headers: {}, offset, timestamp: receivedAt },
})

const versionsAt = ({ offset }: Arrived, position: number) => {
  const version = rowVersionOf(1, offset, position)
  return { version, sourceVersion: version }
}

const recordsToCost = (arrived: Arrived, records: readonly RecordForm[]): readonly RecordToCost[] =>
  records.map(({ record: { device, flow, session, name, start, end }, form }, position) => {
    const sent = {
      locationId: arrived.locationId,
      deviceId: deviceOf(device),
      ...flows[flow],
      start,
      end,
      sessionReferenceId: session,
      recordReferenceId: name,
    }
    return {
      record: { ...sent, ...form, recordId: recordIdDigits(arrived.tenant, sent), recordNumber: position + 1 },
      part: { ...arrived.tenant, batchId: null, receivedAt },
      ...versionsAt(arrived, position),
      origin: originOf(arrived),
    }
  })

const readingsToStore = (
  arrived: Arrived,
  history: History,
  { register, readings }: Extract<Request, { kind: 'readings' }>,
): readonly ReadingToStore[] => {
  const { tenant, locationId } = arrived
  const object = { ...tenant, locationId, deviceId: deviceOf(register.device), ...flows[register.flow] }
  return readings.map(({ reading, value }, position) => {
    const row = {
      ...object,
      time: reading.time,
      isRestart: reading.isRestart,
      value,
      isDoubtful: false,
      recordId: registerIdDigits({ ...object, openedAt: reading.time }),
      sessionReferenceId: register.session,
      recordReferenceId: readingName(register, reading),
      batchId: null,
      recordNumber: position + 1,
      receivedAt,
      ...versionsAt(arrived, position),
    }
    return { row, rule: ruleOf(history, register), origin: originOf(arrived) }
  })
}

/** Apply a change of tariffs or prices. Return its recost request, or null if no price changes. */
const applyChange = (played: PlayedLocation, arrived: Arrived, request: Request): ReceivedRequest | null => {
  played.changes += 1
  if (request.kind !== 'tariff') return null
  const { tariffs, interval } = afterStep(played.tariffs, request.step)
  played.tariffs = tariffs
  if (interval === null) return null
  const { tenant, locationId, offset } = arrived
  const kind = { kind: 'order' as const, orderKind: 'RE_PRICE' as const, orderId: `order-${offset}`, ...tenant }
  const noDetails = { sourceId: null, priceRevision: null, objectId: null, detail: '' }
  const recost = { ...kind, locationIds: [locationId], locationRevision: played.changes, ...interval, ...noDetails }
  return { request: recost, version: versionsAt(arrived, 0).version, origin: originOf(arrived) }
}

type SentForm = { readonly energy: bigint; readonly confidence: number }

const correctionText = (recordId: string, before: SentForm, after: SentForm): string =>
  `${recordId}: ${before.energy} at ${before.confidence} to ${after.energy} at ${after.confidence}`

/** Note the records that were sent before with another form. */
const noteCorrections = ({ forms, corrections }: PlayedLocation, sent: readonly RecordToCost[]): void => {
  for (const { record } of sent) {
    const before = forms.get(record.recordId)
    if (before !== undefined && (before.energy !== record.energy || before.confidence !== record.confidence))
      corrections.push(correctionText(record.recordId, before, record))
    forms.set(record.recordId, { energy: record.energy, confidence: record.confidence })
  }
}

/** Add a request of a history to the input of a step, as if it came from a partition. */
const addRequest = (
  played: PlayedLocation,
  request: Request,
  tenant: Tenant,
  offset: number,
  stepInput: StepArrivals,
): void => {
  const { locationId } = played
  const arrived = { tenant, locationId, offset }
  if (request.kind === 'records') {
    const sent = recordsToCost(arrived, request.records)
    stepInput.records.set(locationId, sent)
    noteCorrections(played, sent)
  } else if (request.kind === 'readings') stepInput.readings.push(...readingsToStore(arrived, played.history, request))
  else {
    const recost = applyChange(played, arrived, request)
    if (recost !== null) stepInput.requests.push(recost)
  }
}

/** Create a pricing cache with the current tariffs of the locations. All market prices are known from the beginning. */
const pricingCacheOf = (playedLocations: ReadonlyMap<string, PlayedLocation>, { accountId }: Tenant): PricingCache => {
  const made = new Map<string, CachedPricing>()
  const pool = createPricingPool()
  const of = (locationId: string): CachedPricing | undefined => {
    const played = playedLocations.get(locationId)
    if (played === undefined) return undefined
    const known = made.get(locationId)
    if (known !== undefined && known.revision === played.changes) return known
    const input = {
      ...inputOf(played.history),
      locationId,
      timeZone: timeZone(played.history.zone) ?? inputOf(played.history).timeZone,
      tariffs: played.tariffs.map(storable),
    }
    const snapshot = compileSnapshot(input, pool)
    const cachedPricing = {
      snapshot,
      accountId,
      revision: played.changes,
      priceRevision: 0n,
      importSourceId: null,
      exportSourceId: null,
    }
    made.set(locationId, cachedPricing)
    return cachedPricing
  }
  const gather: PricingCache['gather'] = async lookups =>
    new Map(
      lookups.flatMap(({ locationId }) =>
        of(locationId) === undefined ? [] : [[locationId, of(locationId) as CachedPricing] as const],
      ),
    )
  const doNothing = (): void => undefined
  return {
    faultOf: () => undefined,
    cached: of,
    gather,
    gatherNewest: gather,
    invalidateLocation: doNothing,
    invalidateSource: doNothing,
    clear: doNothing,
  }
}

const store = async (db: ClickHouse, rows: readonly MeterCostRow[], corrections: Corrections): Promise<void> => {
  await storeCorrections(db, corrections, rows)
  if (rows.length > 0) await db.insert(meterCostBlock(rows))
}

const runCostStep = async (db: ClickHouse, costStep: CostStep, stepInput: StepArrivals): Promise<void> => {
  const stepResult = await costStep.run(stepInput, {
    stored: Promise.resolve(),
    store: (rows, corrections) => store(db, rows, corrections),
    canDefer: false,
  })
  if (stepResult.poison.length + stepResult.failedRequests.length > 0) {
    throw new Error([...stepResult.poison, ...stepResult.failedRequests].map(({ reason }) => reason).join('; '))
  }
  await store(db, stepResult.rows, stepResult.corrections)
  if (stepResult.readings.length === 0) return
  await db.insert({
    table: 'meter_readings',
    columns: meterReadingColumns,
    bytes: encodeBlock(meterReadingColumns, stepResult.readings),
  })
}

/** Compare the stored rows of a location with the exact calculation. */
const faultsOf = async (db: ClickHouse, tenant: Tenant, played: PlayedLocation): Promise<readonly string[]> => {
  const { history, locationId } = played
  const always = { from: 0, to: Date.UTC(2100, 0, 1) }
  const rows = (await Array.fromAsync(rowsInInterval(db, tenant, { locationIds: [locationId] }, always))).flat()
  const expected = expectedState(history, new Map(rows.map(row => [rowNameOf(row), row.recordId])))
  const found: StoredState = new Map(rows.map(row => [rowNameOf(row), rowTextOf(row)]))
  return [...differences(expected, found, ['exact', 'stored']), ...(await wrongCorrections(db, tenant, played))]
}

/** Compare the stored corrections of a location with those that were sent. */
const wrongCorrections = async (
  db: ClickHouse,
  tenant: Tenant,
  { locationId, corrections }: PlayedLocation,
): Promise<readonly string[]> => {
  const everything = { recordId: null, locationId, deviceId: null, from: null, to: null }
  const page = { cursor: null, isBack: false, limit: 100_000 }
  const stored = (await pageOfCorrections(db, tenant, everything, page)).map(({ recordId, before, after }) =>
    correctionText(recordId, before, after),
  )
  const sent = new Set(corrections)
  return [
    ...corrections.filter(one => !stored.includes(one)).map(one => `no correction of ${one}`),
    ...stored.filter(one => !sent.has(one)).map(one => `unexpected correction of ${one}`),
    ...(stored.length === corrections.length ? [] : [`${stored.length} corrections instead of ${corrections.length}`]),
  ]
}

/**
 * Play histories in parallel through the cost step of the worker, on a real ClickHouse.
 * Each request is costed and stored before the next request of its history. The worker clears its caches at random.
 * Return the faults of each history, in the order of the histories.
 */
export const playSteps = async (
  db: ClickHouse,
  tenant: Tenant,
  histories: readonly History[],
): Promise<readonly (readonly string[])[]> => {
  const playedLocations = new Map<string, PlayedLocation>()
  for (const [index, history] of histories.entries()) {
    const requests = oneByOne(history).flatMap(wave => wave.requests)
    const locationId = hexId('loc_', index + 1)
    playedLocations.set(locationId, {
      history,
      locationId,
      requests,
      tariffs: [],
      changes: 1,
      forms: new Map(),
      corrections: [],
    })
  }
  const costStep = createCostStep(db, pricingCacheOf(playedLocations, tenant))
  const random = seededRandom(histories[0]?.seed ?? 0)
  for (let offset = 1; [...playedLocations.values()].some(({ requests }) => requests.length > 0); ) {
    const stepInput: StepArrivals = { records: new Map(), readings: [], requests: [] }
    for (const played of playedLocations.values()) {
      const request = played.requests.shift()
      if (request !== undefined) addRequest(played, request, tenant, offset++, stepInput)
    }
    if (random.oneIn(12)) costStep.drop()
    await runCostStep(db, costStep, stepInput)
  }
  return Promise.all([...playedLocations.values()].map(played => faultsOf(db, tenant, played)))
}
