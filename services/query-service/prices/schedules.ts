import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type RequestedInterval, readInterval, refuseLongInterval } from '../../contract/prices/price-request.ts'
import { scheduleDuration, scheduleLimit } from '../../contract/schedules/schedule-slots.ts'
import { scheduleLimits, type WindowView } from '../../contract/schedules/schedule-window.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { minuteMs } from '../../domain/interval.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newId } from '../../platform/ids/new-id.ts'
import { tenantOf } from '../change.ts'
import { answerSeries, seriesInputOf } from './answer-series.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceDependencies } from './gather-prices.ts'
import { type ScheduleDependencies, scheduleAmountOperations } from './schedule-amounts.ts'

type WindowRequest = Pick<RequestOf<typeof scheduleLimit>, 'caller' | 'at' | 'apiVersion' | 'id' | 'signal'> & {
  readonly body: Parameters<typeof readInterval>[0] & { readonly segment: 'LOW' | 'HIGH' }
}

/** Window with its prices. */
type PricedWindow = { readonly interval: RequestedInterval; readonly gathered: GatheredPrices }

const readWindowPrices = async (
  dependencies: PriceDependencies,
  request: WindowRequest,
): Promise<Result<PricedWindow>> => {
  const interval = readInterval(request.body, request.at)
  if (!interval.ok) return interval
  const refuse = (zone: TimeZone) =>
    refuseLongInterval(interval.value, zone, scheduleLimits.windowDays[request.apiVersion])
  const gathered = await gatherPrices(dependencies, tenantOf(request), request.id, { ...interval.value, refuse })
  return gathered.ok ? accepted({ interval: interval.value, gathered: gathered.value }) : gathered
}

const viewOf = async (
  dependencies: PriceDependencies,
  kind: 'scheduleDuration' | 'scheduleLimit',
  { caller, at, apiVersion, body }: WindowRequest,
  { interval, gathered }: PricedWindow,
): Promise<Omit<WindowView, 'unpriced' | 'offsetOf'>> => ({
  id: newId(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  interval,
  segment: body.segment,
  nextUpdate: apiVersion === 'current' ? null : await nextUpdateOf(dependencies, gathered, at),
  createdAt: at,
})

/** Answer the cheapest or most expensive time of a duration. Source: docs/rules/schedules.md #duration. */
const scheduleByDuration = async (
  dependencies: PriceDependencies,
  request: RequestOf<typeof scheduleDuration>,
): Promise<Outcome<AnswerOf<typeof scheduleDuration>>> => {
  const window = await readWindowPrices(dependencies, request)
  if (!window.ok) return window
  const { duration, contiguous = false } = request.body
  const { interval, gathered } = window.value
  if (duration * minuteMs > interval.end - interval.start) {
    const minutes = Math.floor((interval.end - interval.start) / minuteMs)
    return refused(
      'duration_too_long',
      `duration must be at most ${minutes} minutes, the length of the window`,
      'duration',
    )
  }
  const view = await viewOf(dependencies, 'scheduleDuration', request, window.value)
  const input = { ...seriesInputOf(gathered), view, apiVersion: request.apiVersion, duration, contiguous }
  return answerSeries(dependencies, request, window.value, { name: 'duration', input })
}

/** Answer all time below or above a price limit. Source: docs/rules/schedules.md #limit. */
const scheduleByLimit = async (
  dependencies: PriceDependencies,
  request: RequestOf<typeof scheduleLimit>,
): Promise<Outcome<AnswerOf<typeof scheduleLimit>>> => {
  const window = await readWindowPrices(dependencies, request)
  if (!window.ok) return window
  const { absolute = null, relative = null } = request.body
  const view = await viewOf(dependencies, 'scheduleLimit', request, window.value)
  const input = {
    ...seriesInputOf(window.value.gathered),
    view,
    apiVersion: request.apiVersion,
    bound: { absolute, relative },
  }
  return answerSeries(dependencies, request, window.value, { name: 'limit', input })
}

/** Bind the operations on schedules. */
export const scheduleOperations = (dependencies: ScheduleDependencies): readonly Binding[] => [
  bind(scheduleDuration, request => scheduleByDuration(dependencies, request)),
  bind(scheduleLimit, request => scheduleByLimit(dependencies, request)),
  ...scheduleAmountOperations(dependencies),
]
