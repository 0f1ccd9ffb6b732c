import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { scheduleAmount, scheduleAmountToWire } from '../../contract/schedule-amount.ts'
import type { AmountBody } from '../../contract/schedule-amount-request.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type AmountMarket, planAmount } from '../../domain/schedule/amount.ts'
import type { AmountRequest } from '../../domain/schedule/amount-request.ts'
import type { CountedEnergy } from '../../domain/tariff/evaluate.ts'
import { isOnItsWay } from '../../domain/tariff/on-its-way.ts'
import { mint } from '../../platform/mint.ts'
import { livingDevices } from '../../platform/postgres/devices.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { countedEnergyOf } from './price-counts.ts'
import { gatherPrices, type PriceReads } from './price-reads.ts'
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

/** Gather the prices of both directions, what tiers have counted by the plan's start, and the generation that is expected. */
const gather = async (reads: PriceReads, request: Asked, { devices }: AmountRequest): Promise<Result<Gathered>> => {
  const tenant = tenantOf(request)
  const start = devices.reduce((earliest, device) => Math.min(earliest, device.start), Number.POSITIVE_INFINITY)
  const end = devices.reduce((latest, device) => Math.max(latest, device.end), Number.NEGATIVE_INFINITY)
  const span = { start, end }
  const prices = await gatherPrices(reads, tenant, request.id, { direction: 'IMPORT', ...span })
  if (!prices.ok) {
    const isInBody = prices.refusal.code === 'not_found' && request.layout === 'earlier'
    return isInBody ? refused('location_not_found', 'location_id must be the id of a location of the account', 'location_id') : prices
  }
  const { location, held, request: imports } = prices.value
  const isExporting = devices.some(({ direction }) => direction === 'EXPORT')
  const isImporting = devices.some(({ direction }) => direction === 'IMPORT')
  const bounds = { from: start, to: end }
  const exports = isExporting ? await countedEnergyOf(reads.clickHouse, tenant, held.snapshot, 'EXPORT', bounds) : undefined
  const counted: CountedEnergy = (type, direction, from) => {
    const steps = direction === 'IMPORT' ? imports.counted : direction === 'EXPORT' ? exports : undefined
    return steps?.(type, direction, from) ?? []
  }
  const generation = isImporting ? await expectedGeneration(reads.clickHouse, tenant, request.id, bounds) : []
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
