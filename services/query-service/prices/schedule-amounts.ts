import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import {
  scheduleAmount,
  scheduleAmountRetrieve,
  scheduleRetentionMs,
} from '../../contract/schedules/schedule-amount.ts'
import { type AmountBody, refuseLongPlan } from '../../contract/schedules/schedule-amount-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { isId } from '../../domain/identifier.ts'
import { copyPricing, maxPieces } from '../../domain/price/pricing-copy.ts'
import { fullConfidence } from '../../domain/record/record.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import type { AmountRequest, ExpectedGeneration } from '../../domain/schedule/amount-request.ts'
import type { CountedStep } from '../../domain/tariff/evaluate.ts'
import { isTariffPending } from '../../domain/tariff/pending-tariff.ts'
import { hasTieredPrices, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type QueryInterval,
  rowsInInterval,
  type Tenant,
} from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newId } from '../../platform/ids/new-id.ts'
import { listEvents } from '../../platform/postgres/events/events.ts'
import { findActiveDevices } from '../../platform/postgres/registry/devices.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { type AmountHead, type AmountInput, textSeparator } from '../work-thread/amount-work.ts'
import { answerWork, discardWork, runWork, type StartedWork } from '../work-thread/run-work.ts'
import { countedStepsOf } from './counted-steps.ts'
import { gatherPricing, type PriceDependencies } from './gather-prices.ts'
import { type DemandDependencies, withDemand } from './schedule-demand.ts'

/** Dependencies of schedules: prices, records of charges, and the stores that the event of a plan is written to. */
export type ScheduleDependencies = PriceDependencies & QueryServiceDependencies & DemandDependencies

type AmountScheduleRequest = RequestOf<typeof scheduleAmount>

/** Convert the body to the request of the domain. A device without `max_power` uses the `max_power` of the location. */
const amountRequestOf = ({ max_power: site, shaving_threshold: threshold, data }: AmountBody): AmountRequest => ({
  sitePower: site?.power ?? null,
  threshold:
    threshold === undefined ? null : { absolute: threshold.absolute ?? null, relative: threshold.relative ?? null },
  devices: data.map(deviceRequest => ({
    deviceId: deviceRequest.device_id,
    direction: deviceRequest.tariff_direction ?? 'IMPORT',
    start: deviceRequest.start_time.at,
    end: deviceRequest.end_time.at,
    power: (deviceRequest.max_power ?? site)?.power ?? 0n,
    energy: deviceRequest.energy.energy,
  })),
})

const validateDevices = async (
  dependencies: PriceDependencies,
  request: AmountScheduleRequest,
): Promise<Result<null>> => {
  const ids = [...new Set(request.body.data.map(deviceRequest => deviceRequest.device_id))]
  const activeIds = await withTenant(dependencies.database, tenantOf(request), transaction =>
    findActiveDevices(transaction, ids),
  )
  const unknown = request.body.data.findIndex(deviceRequest => !activeIds.has(deviceRequest.device_id))
  if (unknown === -1) return accepted(null)
  return refused(
    'device_not_found',
    'device_id must be the id of a device of the account',
    `data[${unknown}].device_id`,
  )
}

/**
 * Read the expected generation of a location in an interval: its stored LOCAL records with a confidence below 1,
 * including records of its devices. Energy of an estimate that measured records cover is excluded.
 * Source: docs/rules/schedules.md #own-generation.
 */
const expectedGeneration = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
  interval: QueryInterval,
): Promise<readonly ExpectedGeneration[]> => {
  const found: ExpectedGeneration[] = []
  const filter = { locationIds: [locationId], tariffDirection: 'LOCAL' } as const
  for await (const rows of rowsInInterval(db, tenant, filter, interval)) {
    for (const row of rows)
      if (row.recordConfidence < fullConfidence && row.end > row.start) found.push(...generationOf(row))
  }
  return found
}

/** Return the uncovered time of an estimate. A covered piece has no energy; an estimate without pieces is uncovered. */
const generationOf = ({
  start,
  end,
  energy,
  recordConfidence: confidence,
  pieces,
}: MeterCostRow): ExpectedGeneration[] =>
  pieces.length === 0
    ? [{ start, end, energy, confidence }]
    : pieces
        .filter(piece => piece.end > piece.start && piece.energy > 0n)
        .map(piece => ({ start: piece.start, end: piece.end, energy: piece.energy, confidence }))

type GatheredPlanInput = {
  readonly location: Location
  readonly input: Omit<AmountInput, 'view' | 'body' | 'apiVersion' | 'demand'>
  readonly isSmall: boolean
}

/** Return the interval (ms) from the first start of windows to their last end. */
const enclosingInterval = (windows: AmountRequest['devices']) => ({
  from: windows.reduce((earliest, { start }) => Math.min(earliest, start), Number.POSITIVE_INFINITY),
  to: windows.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY),
})

/**
 * Maximum number of windows × price pieces that the request thread plans, which takes some ms. Tiered prices allow a
 * tenth.
 */
const maxSmallPlan = 2_000

const isSmallPlan = (snapshot: PricingSnapshot, { devices }: AmountRequest): boolean => {
  const { from, to } = enclosingInterval(devices)
  const directions = [...new Set(devices.map(({ direction }) => direction))]
  const pieces = directions.reduce(
    (sum, direction) => sum + maxPieces(snapshot, direction, { start: from, end: to }),
    0,
  )
  const isTiered = directions.some(direction => hasTieredPrices(snapshot, direction))
  return devices.length * (pieces + 2 * devices.length) * (isTiered ? 10 : 1) <= maxSmallPlan
}

/**
 * Load the prices of both directions and the expected generation during the import windows.
 * For each direction also load the energy that its tiers have counted at the start of its first window.
 */
const gatherPlanInput = async (
  dependencies: PriceDependencies,
  request: AmountScheduleRequest,
  plan: AmountRequest,
): Promise<Result<GatheredPlanInput>> => {
  const { devices } = plan
  const tenant = tenantOf(request)
  const refuse = (zone: TimeZone) => refuseLongPlan(request.body, zone)
  const planInterval = enclosingInterval(devices)
  const pricing = await gatherPricing(dependencies, tenant, request.id, { start: planInterval.from, refuse })
  if (!pricing.ok) {
    const isInBody = pricing.refusal.code === 'not_found' && request.apiVersion === 'earlier'
    return isInBody
      ? refused('location_not_found', 'location_id must be the id of a location of the account', 'location_id')
      : pricing
  }
  const { location, cachedPricing } = pricing.value
  const { snapshot } = cachedPricing
  const [imports = [], exports = []] = (['IMPORT', 'EXPORT'] as const).map(direction =>
    devices.filter(deviceRequest => deviceRequest.direction === direction),
  )
  const counted = new Map<number, readonly CountedStep[]>()
  for (const [direction, windows] of [
    ['IMPORT', imports] as const,
    ['EXPORT', exports] as const,
    ['LOCAL', imports] as const,
  ]) {
    if (windows.length === 0) continue
    const steps = await countedStepsOf(dependencies.clickHouse, tenant, snapshot, direction, enclosingInterval(windows))
    for (const [key, countedEnergy] of steps) counted.set(key, countedEnergy)
  }
  const generation =
    imports.length === 0
      ? []
      : await expectedGeneration(dependencies.clickHouse, tenant, request.id, enclosingInterval(imports))
  const input = {
    pricing: copyPricing(snapshot, ['IMPORT', 'EXPORT', 'LOCAL'], { start: planInterval.from, end: planInterval.to }),
    counted,
    generation,
    request: plan,
    pending: (['IMPORT', 'EXPORT'] as const).filter(direction => isTariffPending(location, direction, request.at)),
  }
  return accepted({ location, input, isSmall: isSmallPlan(snapshot, plan) && generation.length <= maxSmallGeneration })
}

const maxSmallGeneration = 100

/** Text of a plan in UTF-8, in the current API version and in the API version of the request. */
type WrittenPlan = { readonly current: Buffer<ArrayBuffer>; readonly requested: Buffer<ArrayBuffer> }

const readPlan = async (answer: StartedWork['answer']): Promise<WrittenPlan> => {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  if ('bytes' in answer) chunks.push(answer.bytes)
  else for await (const bytes of answer.chunks) chunks.push(bytes)
  const whole = Buffer.concat(chunks)
  const end = whole.indexOf(textSeparator)
  return end === -1
    ? { current: whole, requested: whole }
    : { current: whole.subarray(0, end), requested: whole.subarray(end + textSeparator.length) }
}

/** Calculate a plan and read its texts. */
const writePlan = async (
  { thread }: ScheduleDependencies,
  { caller, signal }: AmountScheduleRequest,
  input: AmountInput,
  { isSmall, bytes }: { readonly isSmall: boolean; readonly bytes: number },
): Promise<Result<WrittenPlan>> => {
  const account = caller.accountId
  const started = await runWork(thread, { name: 'amount', input, isSmall, bytes, account, signal })
  if (!started.ok) return started
  const { refusal } = started.value.head as AmountHead
  if (refusal === null) return accepted(await readPlan(started.value.answer))
  await discardWork(started.value)
  return { ok: false, refusal }
}

/**
 * Plan the energy that devices take and deliver, and write the event of the plan. Refuses `device_not_found` and
 * `not_found` (`location_not_found` if the body names the location). Also refuses what `planAmount` refuses.
 * Source: docs/rules/schedules.md #amount, #event.
 */
const createAmountSchedule = async (
  dependencies: ScheduleDependencies,
  request: AmountScheduleRequest,
): Promise<Outcome<AnswerOf<typeof scheduleAmount>>> => {
  const { body, caller, at, signal, apiVersion } = request
  const gathered = await gatherPlanInput(dependencies, request, amountRequestOf(body))
  if (!gathered.ok) return gathered
  const deviceCheck = await validateDevices(dependencies, request)
  if (!deviceCheck.ok) return deviceCheck
  const { location, isSmall } = gathered.value
  const id = newId('scheduleAmount', at)
  const view = {
    id,
    accountId: caller.accountId,
    liveMode: caller.liveMode,
    locationId: location.id,
    timezone: location.timezone,
    currencyCode: location.currencyCode,
    createdAt: at,
  }
  const input = { ...gathered.value.input, view, body, apiVersion }
  const { from: start, to: end } = enclosingInterval(input.request.devices)
  const planned = await withDemand(dependencies, request, { start, end }, (demand, bytes) =>
    writePlan(dependencies, request, { ...input, demand }, { isSmall: isSmall && demand === null, bytes }),
  )
  if (!planned.ok) return planned
  const plan = planned.value
  signal.throwIfAborted()
  const changed = await change(dependencies, scheduleAmount, request, async () =>
    accepted({
      value: null,
      bytes: plan.requested,
      events: [{ type: 'schedule.created', objectId: id, text: plan.current }],
    }),
  )
  return changed.ok ? { ok: true, serialized: { bytes: plan.requested } } : changed
}

const noSchedule = refused('not_found', 'No schedule by amount of the last 24 hours has this id')

const oneItem = { limit: 1, startingAfter: null, endingBefore: null }

/**
 * Maximum length in characters of a plan that the request thread converts to the earlier API version, which takes some
 * ms.
 */
const maxInlineLength = 65_536

/** Answer a stored plan from its `schedule.created` event. Source: docs/rules/schedules.md #reading-a-plan. */
const retrieveSchedule = async (
  dependencies: QueryServiceDependencies,
  request: RequestOf<typeof scheduleAmountRetrieve>,
): Promise<Outcome<AnswerOf<typeof scheduleAmountRetrieve>>> => {
  const { id, at, apiVersion } = request
  if (!isId('scheduleAmount', id)) return noSchedule
  const filter = { types: ['schedule.created'], objectId: id, from: at - scheduleRetentionMs + 1, to: null }
  const found = await withTenant(dependencies.database, tenantOf(request), transaction =>
    listEvents(transaction, filter, oneItem),
  )
  const event = found.ok ? found.value.items[0] : undefined
  if (event === undefined) return noSchedule
  if (apiVersion === 'current') return { ok: true, serialized: { bytes: Buffer.from(event.data) } }
  const isSmall = event.data.length <= maxInlineLength
  return answerWork(dependencies, request, { name: 'eventData', input: { event, apiVersion }, isSmall })
}

/** Bind the operations on schedules by amount. */
export const scheduleAmountOperations = (dependencies: ScheduleDependencies): readonly Binding[] => [
  bind(scheduleAmount, request => createAmountSchedule(dependencies, request)),
  bind(scheduleAmountRetrieve, request => retrieveSchedule(dependencies, request)),
]
