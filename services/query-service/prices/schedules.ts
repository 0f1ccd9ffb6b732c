import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type PriceSpan, refuseLongSpan } from '../../contract/price-request.ts'
import { scheduleAmount, scheduleAmountRetrieve } from '../../contract/schedule-amount.ts'
import { scheduleDuration } from '../../contract/schedule-duration.ts'
import { scheduleLimit } from '../../contract/schedule-limit.ts'
import { readWindow, scheduleLimits, type WindowView } from '../../contract/schedule-window.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { mint } from '../../platform/mint.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerSeries, pricedInput } from './answer-series.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceReads } from './price-reads.ts'
import { retrieveSchedule } from './retrieve-schedule.ts'
import { createAmountSchedule } from './schedule-amounts.ts'

/** What schedules are made from: prices, and what writes the event of a new plan. */
export type ScheduleReads = PriceReads & QueryServiceDependencies

type Asked = Pick<RequestOf<typeof scheduleLimit>, 'caller' | 'at' | 'layout' | 'id' | 'signal'> & {
  readonly body: Parameters<typeof readWindow>[0] & { readonly segment: 'LOW' | 'HIGH' }
}

/** A window and what prices it. */
type Window = { readonly span: PriceSpan; readonly gathered: GatheredPrices }

const readWindowPrices = async (reads: PriceReads, asked: Asked): Promise<Result<Window>> => {
  const span = readWindow(asked.body, asked.at)
  if (!span.ok) return span
  const refuse = (zone: TimeZone) => refuseLongSpan(span.value, zone, scheduleLimits.windowDays[asked.layout])
  const gathered = await gatherPrices(reads, tenantOf(asked), asked.id, { ...span.value, refuse })
  return gathered.ok ? accepted({ span: span.value, gathered: gathered.value }) : gathered
}

const viewOf = async (
  reads: PriceReads,
  kind: 'scheduleDuration' | 'scheduleLimit',
  { caller, at, layout, body }: Asked,
  { span, gathered }: Window,
): Promise<Omit<WindowView, 'unpriced' | 'offsetOf'>> => ({
  id: mint(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  span,
  segment: body.segment,
  nextUpdate: layout === 'current' ? null : await nextUpdateOf(reads, gathered, at),
  createdAt: at,
})

const minuteMs = 60_000

/** Answer the cheapest or dearest time of a duration. Source: docs/rules/schedules.md #duration. */
const scheduleByDuration = async (
  reads: PriceReads,
  request: RequestOf<typeof scheduleDuration>,
): Promise<Outcome<AnswerOf<typeof scheduleDuration>>> => {
  const window = await readWindowPrices(reads, request)
  if (!window.ok) return window
  const { duration, contiguous = false } = request.body
  const { span, gathered } = window.value
  if (duration * minuteMs > span.end - span.start) {
    const minutes = Math.floor((span.end - span.start) / minuteMs)
    return refused('duration_too_long', `duration must be at most ${minutes} minutes, the length of the window`, 'duration')
  }
  const view = await viewOf(reads, 'scheduleDuration', request, window.value)
  const input = { ...pricedInput(gathered), view, layout: request.layout, duration, contiguous }
  return answerSeries(reads, request, window.value, { name: 'duration', input })
}

/** Answer all time on one side of a price. Source: docs/rules/schedules.md #limit. */
const scheduleByLimit = async (
  reads: PriceReads,
  request: RequestOf<typeof scheduleLimit>,
): Promise<Outcome<AnswerOf<typeof scheduleLimit>>> => {
  const window = await readWindowPrices(reads, request)
  if (!window.ok) return window
  const { absolute = null, relative = null } = request.body
  const view = await viewOf(reads, 'scheduleLimit', request, window.value)
  const input = { ...pricedInput(window.value.gathered), view, layout: request.layout, bound: { absolute, relative } }
  return answerSeries(reads, request, window.value, { name: 'limit', input })
}

/** Bind the schedules. */
export const scheduleOperations = (reads: ScheduleReads): readonly Binding[] => [
  bind(scheduleDuration, request => scheduleByDuration(reads, request)),
  bind(scheduleLimit, request => scheduleByLimit(reads, request)),
  bind(scheduleAmount, request => createAmountSchedule(reads, request)),
  bind(scheduleAmountRetrieve, request => retrieveSchedule(reads, request)),
]
