import { atOnce } from '../at-once.ts'
import type { TimeZone } from '../civil-time.ts'
import type { LatestPriced, PlanContent, PricePlan } from './price-plan.ts'
import type { MarketSeries, Tariff } from './tariff.ts'
import { compileTerms, scheduleTexts, type Terms } from './terms.ts'

type PricedSchedule = Pick<Tariff, 'schedule' | 'marketRates'>

/**
 * What snapshots share: compiled terms by content, and price plans by terms, zone and market series.
 * Make one for as long as the process runs and hand it to every snapshot. Its memory is bounded.
 */
export type PricingPool = {
  readonly termsOf: (prices: PricedSchedule) => Terms
  /** Find or compile the terms that `termsOf` gives, in steps: it gives them at once from then on. */
  readonly prepare: (prices: PricedSchedule) => Generator<void, Terms>
  readonly planOf: (of: PlanContent) => PricePlan
}

/** Hash texts to find candidates: FNV-1a from two bases, joined to 53 bits. Equality is judged by content. */
const textHash = () => {
  let low = 0x811c9dc5
  let high = 0x9dc5811c
  return {
    add: (text: string): void => {
      for (let index = 0; index < text.length; index += 1) {
        const code = text.charCodeAt(index)
        low = Math.imul(low ^ code, 0x01000193)
        high = Math.imul(high ^ code, 0x01000193) ^ (high >>> 15)
      }
    },
    value: (): number => (high & 0x1fffff) * 4_294_967_296 + (low >>> 0),
  }
}

/** Tell in steps whether a schedule has these texts. */
function* hasTexts(schedule: Tariff['schedule'], texts: readonly string[]): Generator<void, boolean> {
  let index = 0
  for (const text of scheduleTexts(schedule)) {
    if (text !== texts[index]) return false
    index += 1
    yield
  }
  return index === texts.length
}

type KnownTerms = { readonly schedule: Tariff['schedule']; readonly terms: Terms }

/** Bound what the days of all plans take together: when they outgrow the limit all are dropped. */
const dayBudget = (maxBytes: number): PricePlan['keepDay'] => {
  let taken = 0
  let filled: WeakRef<PricePlan>[] = []
  return (plan, bytes) => {
    if (taken + bytes > maxBytes) {
      for (const reference of filled) {
        reference.deref()?.days.clear()
      }
      filled = []
      taken = 0
    }
    if (plan.days.size <= 1) filled.push(new WeakRef(plan))
    taken += bytes
  }
}

/** Terms by content; all are forgotten when there are too many, for snapshots keep the ones they use. */
const termsByContent = (maxTerms: number): Pick<PricingPool, 'termsOf' | 'prepare'> => {
  const byHash = new Map<number, KnownTerms[]>()
  // Schedules of equal content are mostly one value: its content is looked at once.
  const bySchedule = new WeakMap<Tariff['schedule'], Terms[]>()
  let count = 0
  const knownOf = ({ schedule, marketRates }: PricedSchedule): Terms | undefined =>
    bySchedule.get(schedule)?.find(terms => terms.marketRates === marketRates)

  function* find({ schedule, marketRates }: PricedSchedule): Generator<void, Terms> {
    const texts: string[] = []
    const hash = textHash()
    for (const text of scheduleTexts(schedule)) {
      hash.add(text)
      texts.push(text)
      yield
    }
    for (const { schedule: other, terms } of byHash.get(hash.value()) ?? []) {
      if (terms.marketRates === marketRates && (yield* hasTexts(other, texts))) return terms
    }
    if (count >= maxTerms) {
      byHash.clear()
      count = 0
    }
    const terms = compileTerms(schedule, marketRates)
    count += 1
    byHash.set(hash.value(), [...(byHash.get(hash.value()) ?? []), { schedule, terms }])
    return terms
  }

  function* prepare(prices: PricedSchedule): Generator<void, Terms> {
    const known = knownOf(prices)
    if (known !== undefined) return known
    const terms = yield* find(prices)
    bySchedule.set(prices.schedule, [...(bySchedule.get(prices.schedule) ?? []), terms])
    return terms
  }

  return { termsOf: prices => knownOf(prices) ?? atOnce(prepare(prices)), prepare }
}

/** Stretches at market prices that are kept; plans in turn share them. */
const keptPriced = 1_024

/**
 * Make a pool. `maxBytes` (roughly) bounds the days that all plans keep: what outgrows it is dropped and made again as it is asked
 * for. `maxTerms` bounds the compiled schedules. Neither can change a price.
 */
export const pricingPool = ({ maxBytes = 64 * 1024 * 1024, maxTerms = 200_000 } = {}): PricingPool => {
  const ids = new WeakMap<Terms, number>()
  let lastId = 0
  const idOf = (terms: Terms | null): number => {
    if (terms === null) return 0
    const id = ids.get(terms) ?? lastId + 1
    lastId = Math.max(lastId, id)
    ids.set(terms, id)
    return id
  }
  // Plans are held by the snapshots that use them; the pool only finds them again.
  const plans = new WeakMap<MarketSeries | TimeZone, Map<string, WeakRef<PricePlan>>>()
  const keepDay = dayBudget(maxBytes)
  const latest = Array.from({ length: keptPriced }, (): LatestPriced => ({ interval: -1, stretch: null }))
  let made = 0
  const planOf: PricingPool['planOf'] = of => {
    const anchor = of.market ?? of.zone
    const known = plans.get(anchor) ?? new Map<string, WeakRef<PricePlan>>()
    plans.set(anchor, known)
    const key = `${of.zone.name}/${of.free}/${idOf(of.commodity)}/${idOf(of.nonCommodity)}`
    const found = known.get(key)?.deref()
    if (found !== undefined && found.zone === of.zone) return found
    if (known.size > maxTerms) known.clear()
    const plan: PricePlan = { ...of, shared: new Map(), days: new Map(), keepDay, latest: latest[made % latest.length] as LatestPriced }
    made += 1
    known.set(key, new WeakRef(plan))
    return plan
  }
  return { ...termsByContent(maxTerms), planOf }
}
