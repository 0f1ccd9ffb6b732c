import type { LocationCalendar } from '../charge/location-calendar.ts'
import type { TimeZone } from '../civil-time.ts'
import { type CompiledSchedule, compileSchedule, scheduleText } from './compiled-schedule.ts'
import type { LatestSegment, PlanInput, PricePlan } from './price-plan.ts'
import type { MarketSeries, Tariff } from './tariff.ts'

type SchedulePrices = Pick<Tariff, 'schedule' | 'marketRates'>

/**
 * Parts that snapshots share: compiled schedules by content, and price plans by schedules, zone, calendar and market
 * series.
 * Create one per process and pass it to every snapshot. Its memory is bounded.
 */
export type PricingPool = {
  readonly compiledScheduleOf: (prices: SchedulePrices) => CompiledSchedule
  readonly planOf: (input: PlanInput) => PricePlan
}

/** Hash a text to find candidates: FNV-1a from two bases, joined to 53 bits. The content decides on equality. */
const textHash = (text: string): number => {
  let low = 0x811c9dc5
  let high = 0x9dc5811c
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x01000193) ^ (high >>> 15)
  }
  return (high & 0x1fffff) * 4_294_967_296 + (low >>> 0)
}

type CachedSchedule = { readonly schedule: Tariff['schedule']; readonly compiled: CompiledSchedule }

/** Limit the memory of the days of all plans: if they exceed the limit, all are cleared. */
const createDayBudget = (maxBytes: number): PricePlan['onDayBuilt'] => {
  let usedBytes = 0
  let filledPlans: WeakRef<PricePlan>[] = []
  return (plan, bytes) => {
    if (usedBytes + bytes > maxBytes) {
      for (const reference of filledPlans) {
        reference.deref()?.days.clear()
      }
      filledPlans = []
      usedBytes = 0
    }
    if (plan.days.size <= 1) filledPlans.push(new WeakRef(plan))
    usedBytes += bytes
  }
}

/** Compiled schedules by content. If there are too many, the table is cleared: snapshots still reference their own. */
const compiledByContent = (maxTerms: number): Pick<PricingPool, 'compiledScheduleOf'> => {
  const byHash = new Map<number, CachedSchedule[]>()
  // Most schedules of equal content are one object, so their content is compared once.
  const bySchedule = new WeakMap<Tariff['schedule'], CompiledSchedule[]>()
  let count = 0
  const knownOf = ({ schedule, marketRates }: SchedulePrices): CompiledSchedule | undefined =>
    bySchedule.get(schedule)?.find(compiled => compiled.followsMarket === marketRates)

  const findOrCompile = ({ schedule, marketRates }: SchedulePrices): CompiledSchedule => {
    const text = scheduleText(schedule)
    const hash = textHash(text)
    for (const { schedule: other, compiled } of byHash.get(hash) ?? []) {
      if (compiled.followsMarket === marketRates && scheduleText(other) === text) return compiled
    }
    if (count >= maxTerms) {
      byHash.clear()
      count = 0
    }
    const compiled = compileSchedule(schedule, marketRates)
    count += 1
    byHash.set(hash, [...(byHash.get(hash) ?? []), { schedule, compiled }])
    return compiled
  }

  return {
    compiledScheduleOf: prices => {
      const cached = knownOf(prices)
      if (cached !== undefined) return cached
      const compiled = findOrCompile(prices)
      bySchedule.set(prices.schedule, [...(bySchedule.get(prices.schedule) ?? []), compiled])
      return compiled
    },
  }
}

/** Number of cached segments at market prices. Plans share them in turn. */
const latestSegmentCount = 1_024

/**
 * Create a pool. `maxBytes` (approximate) limits the memory for days of all plans; cleared days are built again on use.
 * `maxTerms` limits the number of compiled schedules. Neither changes a price.
 */
export const createPricingPool = ({
  maxBytes = 64 * 1024 * 1024,
  maxTerms = 200_000,
}: {
  readonly maxBytes?: number
  readonly maxTerms?: number
} = {}): PricingPool => {
  const ids = new WeakMap<CompiledSchedule | LocationCalendar, number>()
  let lastId = 0
  const idOf = (part: CompiledSchedule | LocationCalendar | null): number => {
    if (part === null) return 0
    const id = ids.get(part) ?? lastId + 1
    lastId = Math.max(lastId, id)
    ids.set(part, id)
    return id
  }
  // The snapshots own the plans; the pool only finds them.
  const plans = new WeakMap<MarketSeries | TimeZone, Map<string, WeakRef<PricePlan>>>()
  const onDayBuilt = createDayBudget(maxBytes)
  const latest = Array.from({ length: latestSegmentCount }, (): LatestSegment => ({ interval: -1, segment: null }))
  let planCount = 0
  const planOf: PricingPool['planOf'] = input => {
    const anchor = input.market ?? input.zone
    const cached = plans.get(anchor) ?? new Map<string, WeakRef<PricePlan>>()
    plans.set(anchor, cached)
    const parts = [input.commodity, input.nonCommodity, input.calendar].map(idOf)
    const key = `${input.zone.name}/${input.isFree}/${parts.join('/')}`
    const found = cached.get(key)?.deref()
    if (found !== undefined && found.zone === input.zone) return found
    if (cached.size > maxTerms) cached.clear()
    const plan: PricePlan = {
      ...input,
      segmentByTimeBands: new Map(),
      days: new Map(),
      onDayBuilt,
      latest: latest[planCount % latest.length] as LatestSegment,
    }
    planCount += 1
    cached.set(key, new WeakRef(plan))
    return plan
  }
  return { ...compiledByContent(maxTerms), planOf }
}
