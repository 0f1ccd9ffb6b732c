import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type PriceSpan, refuseLongSpan } from '../../contract/price-request.ts'
import { scheduleAmount } from '../../contract/schedule-amount.ts'
import { scheduleDuration, scheduleDurationToWire } from '../../contract/schedule-duration.ts'
import { scheduleLimit, scheduleLimitToWire } from '../../contract/schedule-limit.ts'
import { readWindow, scheduleLimits, type WindowView } from '../../contract/schedule-window.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { type PriceElement, type PriceSeries, priceSeries } from '../../domain/price/price-series.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { scheduleDuration as chooseDuration } from '../../domain/schedule/duration.ts'
import { withoutPrice } from '../../domain/schedule/infeasible.ts'
import { scheduleLimit as chooseLimit } from '../../domain/schedule/limit.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { mint } from '../../platform/mint.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceReads, refuseSeries } from './price-reads.ts'
import { createAmountSchedule } from './schedule-amounts.ts'

/** What schedules are made from: prices, and what writes the event of a new plan. */
export type ScheduleReads = PriceReads & QueryServiceDependencies

type Asked = Pick<RequestOf<typeof scheduleLimit>, 'caller' | 'at' | 'layout' | 'id'> & {
  readonly body: Parameters<typeof readWindow>[0] & { readonly segment: 'LOW' | 'HIGH' }
}

/** A window with its prices. */
type Window = { readonly span: PriceSpan; readonly gathered: GatheredPrices; readonly series: PriceSeries<PriceElement> }

const readPrices = async (reads: PriceReads, asked: Asked): Promise<Result<Window>> => {
  const span = readWindow(asked.body, asked.at)
  if (!span.ok) return span
  const refuse = (zone: TimeZone) => refuseLongSpan(span.value, zone, scheduleLimits.windowDays[asked.layout])
  const gathered = await gatherPrices(reads, tenantOf(asked), asked.id, { ...span.value, refuse })
  if (!gathered.ok) return gathered
  const series = priceSeries(gathered.value.held.snapshot, gathered.value.request)
  return accepted({ span: span.value, gathered: gathered.value, series })
}

/** Say which price is missing where the priced time of a window cannot hold what is asked for. */
const refuseWindow = ({ span, gathered, series }: Window, { layout, at }: Asked): Refusal => {
  const first = series.unpriced[0] ?? { start: span.start, end: span.end, missing: 'TARIFF' }
  return refuseSeries(gathered, series, { span, layout, at }) ?? withoutPrice(gathered.held.snapshot, first, span.direction, span.endOffset)
}

const viewOf = async (
  reads: PriceReads,
  kind: 'scheduleDuration' | 'scheduleLimit',
  { caller, at, layout, body }: Asked,
  { span, gathered, series }: Window,
): Promise<WindowView> => ({
  id: mint(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  span,
  segment: body.segment,
  nextUpdate: layout === 'current' ? null : await nextUpdateOf(reads, gathered, at),
  unpriced: series.unpriced,
  createdAt: at,
})

const minuteMs = 60_000

/** Answer the cheapest or dearest time of a duration. Source: contract decisions 13. */
const scheduleByDuration = async (
  reads: PriceReads,
  request: RequestOf<typeof scheduleDuration>,
): Promise<Outcome<AnswerOf<typeof scheduleDuration>>> => {
  const window = await readPrices(reads, request)
  if (!window.ok) return window
  const { duration, contiguous = false, segment } = request.body
  const { span, series } = window.value
  if (duration * minuteMs > span.end - span.start) {
    const minutes = Math.floor((span.end - span.start) / minuteMs)
    return refused('duration_too_long', `duration must be at most ${minutes} minutes, the length of the window`, 'duration')
  }
  const slots = chooseDuration(series.elements, { segment, duration: duration * minuteMs, contiguous })
  if (slots === null) return { ok: false, refusal: refuseWindow(window.value, request) }
  return accepted(
    scheduleDurationToWire({ ...(await viewOf(reads, 'scheduleDuration', request, window.value)), duration, contiguous, slots }),
  )
}

/** Answer all time on one side of a price. Source: contract decisions 13. */
const scheduleByLimit = async (
  reads: PriceReads,
  request: RequestOf<typeof scheduleLimit>,
): Promise<Outcome<AnswerOf<typeof scheduleLimit>>> => {
  const window = await readPrices(reads, request)
  if (!window.ok) return window
  const { elements } = window.value.series
  if (elements.length === 0) return { ok: false, refusal: refuseWindow(window.value, request) }
  const { segment, absolute = null, relative = null } = request.body
  const bound = { absolute, relative }
  const slots = chooseLimit(elements, segment, bound)
  return accepted(scheduleLimitToWire({ ...(await viewOf(reads, 'scheduleLimit', request, window.value)), bound, slots }))
}

/** Bind the schedules. */
export const scheduleOperations = (reads: ScheduleReads): readonly Binding[] => [
  bind(scheduleDuration, request => scheduleByDuration(reads, request)),
  bind(scheduleLimit, request => scheduleByLimit(reads, request)),
  bind(scheduleAmount, request => createAmountSchedule(reads, request)),
]
