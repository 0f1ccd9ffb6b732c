import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { scheduleAmount } from '../../contract/schedule-amount.ts'
import { type AmountBody, refuseLongPlan } from '../../contract/schedule-amount-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { copyPricing, mostPieces } from '../../domain/price/pricing-copy.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { AmountRequest } from '../../domain/schedule/amount-request.ts'
import type { CountedStep } from '../../domain/tariff/evaluate.ts'
import { isOnItsWay } from '../../domain/tariff/on-its-way.ts'
import { countsEnergy, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { mint } from '../../platform/mint.ts'
import { livingDevices } from '../../platform/postgres/devices.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { type AmountHead, type AmountInput, textEnd } from '../work/amount-work.ts'
import { type BegunWork, leaveWork, runWork } from '../work/run-work.ts'
import { countedStepsOf } from './price-counts.ts'
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

type Gathered = {
  readonly location: StoredLocation
  readonly input: Omit<AmountInput, 'view' | 'body' | 'layout'>
  readonly isSmall: boolean
}

/** The time (ms) from the first start of some windows to their last end. */
const spanOf = (windows: AmountRequest['devices']) => ({
  from: windows.reduce((earliest, { start }) => Math.min(earliest, start), Number.POSITIVE_INFINITY),
  to: windows.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY),
})

/** Plans of so many windows × pieces of price take some ms; where tiers tie all time together, those of a tenth. */
const fewCells = 2_000

const isSmallPlan = (snapshot: PricingSnapshot, { devices }: AmountRequest): boolean => {
  const { from, to } = spanOf(devices)
  const directions = [...new Set(devices.map(({ direction }) => direction))]
  const pieces = directions.reduce((sum, direction) => sum + mostPieces(snapshot, direction, { start: from, end: to }), 0)
  const isTiered = directions.some(direction => countsEnergy(snapshot, direction))
  return devices.length * (pieces + 2 * devices.length) * (isTiered ? 10 : 1) <= fewCells
}

/**
 * Gather the prices of both directions, what the tiers of each have counted when its first window begins, and the generation that is
 * expected while imports may run.
 */
const gather = async (reads: PriceReads, request: Asked, plan: AmountRequest): Promise<Result<Gathered>> => {
  const { devices } = plan
  const tenant = tenantOf(request)
  const refuse = (zone: TimeZone) => refuseLongPlan(request.body, zone)
  const whole = spanOf(devices)
  const pricing = await gatherPricing(reads, tenant, request.id, { start: whole.from, refuse })
  if (!pricing.ok) {
    const isInBody = pricing.refusal.code === 'not_found' && request.layout === 'earlier'
    return isInBody ? refused('location_not_found', 'location_id must be the id of a location of the account', 'location_id') : pricing
  }
  const { location, held } = pricing.value
  const { snapshot } = held
  const [imports = [], exports = []] = (['IMPORT', 'EXPORT'] as const).map(direction => devices.filter(one => one.direction === direction))
  const counted = new Map<number, readonly CountedStep[]>()
  for (const [direction, windows] of [['IMPORT', imports] as const, ['EXPORT', exports] as const, ['LOCAL', imports] as const]) {
    if (windows.length === 0) continue
    const steps = await countedStepsOf(reads.clickHouse, tenant, snapshot, direction, spanOf(windows))
    for (const [key, of] of steps) counted.set(key, of)
  }
  const generation = imports.length === 0 ? [] : await expectedGeneration(reads.clickHouse, tenant, request.id, spanOf(imports))
  const input = {
    pricing: copyPricing(snapshot, ['IMPORT', 'EXPORT', 'LOCAL'], { start: whole.from, end: whole.to }),
    ...{ counted, generation, request: plan },
    pending: (['IMPORT', 'EXPORT'] as const).filter(direction => isOnItsWay(location, direction, request.at)),
  }
  return accepted({ location, input, isSmall: isSmallPlan(snapshot, plan) && generation.length <= mostSmallGeneration })
}

const mostSmallGeneration = 100

/** A plan as it was written in UTF-8: in the names of the current layout, and in those of the request's. */
type WrittenPlan = { readonly current: Buffer<ArrayBuffer>; readonly asked: Buffer<ArrayBuffer> }

const readPlan = async (answer: BegunWork['answer']): Promise<WrittenPlan> => {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  if ('bytes' in answer) chunks.push(answer.bytes)
  else for await (const bytes of answer.chunks) chunks.push(bytes)
  const whole = Buffer.concat(chunks)
  const end = whole.indexOf(textEnd)
  return end === -1 ? { current: whole, asked: whole } : { current: whole.subarray(0, end), asked: whole.subarray(end + textEnd.length) }
}

/**
 * Plan what devices take and give, and write the event that tells of the plan. Refuses `not_found` (`location_not_found` where the location
 * is named in the body), `device_not_found`, and what `planAmount` refuses.
 * Source: docs/rules/schedules.md #amount, #event.
 */
export const createAmountSchedule = async (
  reads: PriceReads & QueryServiceDependencies,
  request: Asked,
): Promise<Outcome<AnswerOf<typeof scheduleAmount>>> => {
  const { body, caller, at, signal, layout } = request
  const gathered = await gather(reads, request, requestOf(body))
  if (!gathered.ok) return gathered
  const known = await checkDevices(reads, request)
  if (!known.ok) return known
  const { location, isSmall } = gathered.value
  const id = mint('scheduleAmount', at)
  const view = {
    ...{ id, accountId: caller.accountId, liveMode: caller.liveMode, locationId: location.id },
    ...{ timezone: location.timezone, currencyCode: location.currencyCode, createdAt: at },
  }
  const input = { ...gathered.value.input, view, body, layout }
  const begun = await runWork(reads.thread, { name: 'amount', input, isSmall, account: caller.accountId, signal })
  if (!begun.ok) return begun
  const { refusal } = begun.value.head as AmountHead
  if (refusal !== null) {
    await leaveWork(begun.value)
    return { ok: false, refusal }
  }
  const plan = await readPlan(begun.value.answer)
  signal.throwIfAborted()
  const changed = await change(reads, scheduleAmount, request, async () =>
    accepted({ value: null, bytes: plan.asked, events: [{ type: 'schedule.created', objectId: id, text: plan.current }] }),
  )
  return changed.ok ? { ok: true, written: { bytes: plan.asked } } : changed
}
