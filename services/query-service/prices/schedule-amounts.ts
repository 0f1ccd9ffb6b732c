import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { scheduleAmount, scheduleAmountToWire } from '../../contract/schedule-amount.ts'
import { type AmountBody, refuseLongPlan } from '../../contract/schedule-amount-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type AmountMarket, planAmount } from '../../domain/schedule/amount.ts'
import type { AmountRequest } from '../../domain/schedule/amount-request.ts'
import { type CountedEnergy, nothingCounted } from '../../domain/tariff/evaluate.ts'
import { isOnItsWay } from '../../domain/tariff/on-its-way.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { mint } from '../../platform/mint.ts'
import { livingDevices } from '../../platform/postgres/devices.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { countedEnergyOf } from './price-counts.ts'
import { gatherPricing, type PriceReads } from './price-reads.ts'
import { expectedGeneration } from './schedule-reads.ts'

type Asked = RequestOf<typeof scheduleAmount>

/** Read what is asked for in the domain's terms; a device without a power of its own has the location's. */
const requestOf = ({ max_power: site, shaving_threshold: threshold, data }: AmountBody): AmountRequest => ({
  sitePower: site?.power ?? null,
  threshold: threshold === undefined ? null : { absolute: threshold.absolute ?? null, relative: threshold.relative ?? null },
  devices: data.map(one => ({
    deviceId: one.device_id,
    direction: one.tariff_direction ?? 'IMPORT',
    start: one.start_time.at,
    end: one.end_time.at,
    power: (one.max_power ?? site)?.power ?? 0n,
    energy: one.energy.energy,
  })),
})

const checkDevices = async (reads: PriceReads, request: Asked): Promise<Result<null>> => {
  const ids = [...new Set(request.body.data.map(one => one.device_id))]
  const living = await withTenant(reads.database, tenantOf(request), transaction => livingDevices(transaction, ids))
  const unknown = request.body.data.findIndex(one => !living.has(one.device_id))
  if (unknown === -1) return accepted(null)
  return refused('device_not_found', 'device_id must be the id of a device of the account', `data[${unknown}].device_id`)
}

type Gathered = { readonly location: StoredLocation; readonly market: AmountMarket }

/** The time (ms) from the first start of some windows to their last end. */
const spanOf = (windows: AmountRequest['devices']) => ({
  from: windows.reduce((earliest, { start }) => Math.min(earliest, start), Number.POSITIVE_INFINITY),
  to: windows.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY),
})

/**
 * Gather the prices of both directions, what the tiers of each have counted when its first window begins, and the generation that is
 * expected while imports may run.
 */
const gather = async (reads: PriceReads, request: Asked, { devices }: AmountRequest): Promise<Result<Gathered>> => {
  const tenant = tenantOf(request)
  const refuse = (zone: TimeZone) => refuseLongPlan(request.body, zone)
  const pricing = await gatherPricing(reads, tenant, request.id, { start: spanOf(devices).from, refuse })
  if (!pricing.ok) {
    const isInBody = pricing.refusal.code === 'not_found' && request.layout === 'earlier'
    return isInBody ? refused('location_not_found', 'location_id must be the id of a location of the account', 'location_id') : pricing
  }
  const { location, held } = pricing.value
  const [imports, exports] = (['IMPORT', 'EXPORT'] as const).map(direction => devices.filter(one => one.direction === direction))
  const countedOf = async (direction: TariffDirection, windows: AmountRequest['devices'] = []) =>
    windows.length === 0 ? nothingCounted : countedEnergyOf(reads.clickHouse, tenant, held.snapshot, direction, spanOf(windows))
  const of: Readonly<Record<TariffDirection, CountedEnergy>> = {
    IMPORT: await countedOf('IMPORT', imports),
    EXPORT: await countedOf('EXPORT', exports),
    LOCAL: await countedOf('LOCAL', imports),
  }
  const counted: CountedEnergy = (type, direction, from) => of[direction](type, direction, from)
  const generation =
    imports === undefined || imports.length === 0 ? [] : await expectedGeneration(reads.clickHouse, tenant, request.id, spanOf(imports))
  const isPending: AmountMarket['isPending'] = direction => isOnItsWay(location, direction, request.at)
  return accepted({ location, market: { snapshot: held.snapshot, counted, generation, isPending } })
}

/** How long (ms) a plan holds up the process before others get their turn. */
const turnMs = 10

/** Do work that yields, in turns. Rejects once the request has run out of time. */
const inTurns = async <T>(work: Generator<undefined, T>, signal: AbortSignal): Promise<T> => {
  for (let began = performance.now(); ; ) {
    const step = work.next()
    if (step.done === true) return step.value
    if (performance.now() - began < turnMs) continue
    await nextTurn()
    signal.throwIfAborted()
    began = performance.now()
  }
}

/**
 * Plan what devices take and give, and write the event that tells of the plan. Refuses `not_found` (`location_not_found` where the location
 * is named in the body), `device_not_found`, and what `planAmount` refuses. Source: contract decisions 13 and 14.
 */
export const createAmountSchedule = async (
  reads: PriceReads & QueryServiceDependencies,
  request: Asked,
): Promise<Outcome<AnswerOf<typeof scheduleAmount>>> => {
  const { body, caller, at, signal } = request
  const asked = requestOf(body)
  const gathered = await gather(reads, request, asked)
  if (!gathered.ok) return gathered
  const known = await checkDevices(reads, request)
  if (!known.ok) return known
  const { location, market } = gathered.value
  const plan = await inTurns(planAmount(asked, market, body.data[0]?.end_time.offsetMinutes ?? 0), signal)
  if (!plan.ok) return plan
  const schedule = scheduleAmountToWire({
    id: mint('scheduleAmount', at),
    accountId: caller.accountId,
    liveMode: caller.liveMode,
    locationId: location.id,
    timezone: location.timezone,
    currencyCode: location.currencyCode,
    unpriced: plan.value.unpriced,
    createdAt: at,
    body,
    plan: plan.value,
  })
  return change(reads, scheduleAmount, request, async () =>
    accepted({ value: schedule, events: [{ type: 'schedule.created', objectId: schedule.id, data: schedule }] }),
  )
}
