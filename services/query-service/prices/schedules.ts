import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { readInterval } from '../../contract/prices/price-request.ts'
import { scheduleDuration, scheduleLimit } from '../../contract/schedules/schedule-slots.ts'
import { scheduleLimits, type WindowView } from '../../contract/schedules/schedule-window.ts'
import { minuteMs } from '../../domain/interval.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { answerSeries, seriesInputOf } from './answer-series.ts'
import {
  gatherInterval,
  nextUpdateOf,
  type PriceDependencies,
  type PricedRequest,
  priceViewOf,
} from './gather-prices.ts'
import { type ScheduleDependencies, scheduleAmountOperations } from './schedule-amounts.ts'

type WindowRequest = Pick<RequestOf<typeof scheduleLimit>, 'caller' | 'at' | 'apiVersion' | 'id' | 'signal'> & {
  readonly body: Parameters<typeof readInterval>[0] & { readonly segment: 'LOW' | 'HIGH' }
}

const readWindowPrices = (dependencies: PriceDependencies, request: WindowRequest): Promise<Result<PricedRequest>> => {
  const { body, apiVersion, at } = request
  return gatherInterval(dependencies, request, readInterval(body, at), scheduleLimits.windowDays[apiVersion])
}

const viewOf = async (
  dependencies: PriceDependencies,
  kind: 'scheduleDuration' | 'scheduleLimit',
  request: WindowRequest,
  priced: PricedRequest,
): Promise<Omit<WindowView, 'unpriced' | 'offsetOf'>> => ({
  ...priceViewOf(kind, request, priced),
  segment: request.body.segment,
  nextUpdate: request.apiVersion === 'current' ? null : await nextUpdateOf(dependencies, priced.gathered, request.at),
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
