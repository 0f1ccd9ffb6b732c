import fc from 'fast-check'
import type { Result } from '../../../../services/domain/refusal.ts'
import { type AmountPlan, planAmount } from '../../../../services/domain/schedule/amount.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import type { Rate } from '../../../../services/domain/tariff/rate.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'
import { hourMs } from './site.ts'

type Task = { readonly from: number; readonly to: number; readonly power: number; readonly energy: number }

/**
 * A plan so small that all there are can be tried: hours, kW and kWh are whole. `prices` are, for each hour, those of its tiers in cents;
 * `bounds` end the tiers of all hours, in kWh of the calendar month. `limit` is the price beyond which nothing may be planned.
 */
export type SmallTiers = {
  readonly direction: 'IMPORT' | 'EXPORT'
  readonly start: number
  readonly prices: readonly (readonly number[])[]
  readonly bounds: readonly number[]
  readonly counted: number
  readonly tasks: readonly Task[]
  readonly sitePower: number | null
  readonly limit: number | null
}

const hours = 4
const kwh = 1_000_000_000n
const centPerKwh = 10_000_000n

const tariffOf = ({ direction, start, prices, bounds }: SmallTiers): Tariff => {
  const first = (start / hourMs) % 24
  const rateOf = (tiers: readonly number[]): Rate[] =>
    tiers.map((cents, tier) => ({
      fixed: BigInt(cents) * centPerKwh,
      to: bounds[tier] === undefined ? null : BigInt(bounds[tier]) * kwh,
      surchargeFixed: 0n,
      surchargePercentage: 0n,
    }))
  const bands = Array.from({ length: 24 }, (_, hour) => ({
    validFrom: hour * 3600,
    validTo: (hour + 1) * 3600,
    rate: rateOf(prices[(hour - first + 24) % 24] ?? prices[0] ?? []),
  }))
  return {
    id: 'trf_1',
    direction,
    type: 'COMMODITY',
    marketRates: false,
    contractStart: null,
    contractEnd: null,
    closedAt: null,
    schedule: [{ months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours: bands }] }],
  }
}

const monthOf = (at: number): number => new Date(at).getUTCMonth()

/** Plan it to its end. */
export const planSmall = (of: SmallTiers): Result<AmountPlan> => {
  const input = {
    locationId: 'loc_1',
    currencyCode: 'EUR',
    timeZone: zoneOf('UTC'),
    calendar: null,
    importMarket: null,
    exportMarket: null,
  }
  const snapshot = compileSnapshot({ ...input, tariffs: [tariffOf(of)] }, createPricingPool())
  const devices = of.tasks.map(({ from, to, power, energy }, index) => ({
    deviceId: `dev_${index}`,
    direction: of.direction,
    power: BigInt(power) * kwh,
    energy: BigInt(energy) * kwh,
    start: of.start + from * hourMs,
    end: of.start + to * hourMs,
  }))
  const counted = BigInt(of.counted) * kwh
  return planAmount(
    {
      devices,
      sitePower: of.sitePower === null ? null : BigInt(of.sitePower) * kwh,
      threshold: of.limit === null ? null : { absolute: BigInt(of.limit) * centPerKwh, relative: null },
    },
    {
      snapshot,
      generation: [],
      counted: (_type, _direction, from) => (monthOf(from) === monthOf(of.start) ? [{ from, counted }] : []),
    },
    0,
  )
}

/** Return the cost of the kWh taken in each hour, counted in order, in cents; revenue is below 0. Null if a price is beyond the limit. */
const costOf = (of: SmallTiers, totals: readonly number[]): number | null => {
  let [cost, counted] = [0, of.counted]
  for (const [hour, energy] of totals.entries()) {
    if (hour > 0 && monthOf(of.start + hour * hourMs) !== monthOf(of.start + (hour - 1) * hourMs)) counted = 0
    for (let taken = 0; taken < energy; taken += 1) {
      const tier = of.bounds.filter(bound => bound <= counted).length
      const price = of.prices[hour]?.[tier] ?? Number.NaN
      if (of.limit !== null && (of.direction === 'IMPORT' ? price > of.limit : price < of.limit)) return null
      cost += of.direction === 'IMPORT' ? price : -price
      counted += 1
    }
  }
  return cost
}

/** The most energy (kWh) that any plan holds, and the least cost of that (cents): all whole ones are tried. */
export const bestOf = (of: SmallTiers): { readonly energy: number; readonly cost: number } => {
  const totals = of.prices.map(() => 0)
  let best = { energy: 0, cost: 0 }
  const evaluate = (): void => {
    const cost = costOf(of, totals)
    const energy = totals.reduce((sum, one) => sum + one, 0)
    if (cost !== null && (energy > best.energy || (energy === best.energy && cost < best.cost))) best = { energy, cost }
  }
  const assign = (task: number, hour: number, left: number): void => {
    const one = of.tasks[task]
    if (one === undefined) evaluate()
    else if (hour === one.to) assign(task + 1, of.tasks[task + 1]?.from ?? 0, of.tasks[task + 1]?.energy ?? 0)
    else {
      const before = totals[hour] ?? 0
      const freePower =
        of.direction === 'EXPORT' || of.sitePower === null ? one.power : Math.min(one.power, of.sitePower - before)
      for (let taken = 0; taken <= Math.min(left, freePower); taken += 1) {
        totals[hour] = before + taken
        assign(task, hour + 1, left - taken)
      }
      totals[hour] = before
    }
  }
  assign(0, of.tasks[0]?.from ?? 0, of.tasks[0]?.energy ?? 0)
  return best
}

const task: fc.Arbitrary<Task> = fc
  .record({
    from: fc.integer({ min: 0, max: hours - 1 }),
    length: fc.integer({ min: 1, max: hours }),
    power: fc.integer({ min: 1, max: 2 }),
    energy: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ from, length, power, energy }) => {
    const to = Math.min(hours, from + length)
    return { from, to, power, energy: Math.min(energy, power * (to - from)) }
  })

/** Small plans whose tiers rise in every hour: by the same in each, or each in its own way; hours may rise alike by chance. */
export const smallTiers = (
  direction: SmallTiers['direction'],
  isParallel: boolean,
  isLimited: boolean,
): fc.Arbitrary<SmallTiers> => {
  const rises = fc.tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 0, max: 15 }))
  return fc
    .record({
      bases: fc.array(fc.integer({ min: -10, max: 30 }), { minLength: hours, maxLength: hours }),
      rises: fc.array(rises, { minLength: hours, maxLength: hours }),
      risesOf: fc.array(fc.nat({ max: hours - 1 }), { minLength: hours, maxLength: hours }),
      widths: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
      // Within a month, or over the end of one
      start: fc.constantFrom(Date.UTC(2026, 0, 10, 5), Date.UTC(2026, 0, 31, 22)),
      counted: fc.integer({ min: 0, max: 3 }),
      tasks: fc.array(task, { minLength: 1, maxLength: 3 }),
      sitePower: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null }),
      limit: isLimited ? fc.integer({ min: -5, max: 45 }) : fc.constant(null),
    })
    .map(({ bases, rises: all, risesOf, widths: [first, second], ...rest }) => ({
      ...rest,
      direction,
      bounds: [first, first + second],
      prices: bases.map((base, hour) => {
        const [rise = 0, more = 0] = all[isParallel ? 0 : (risesOf[hour] ?? hour)] ?? []
        return [base, base + rise, base + rise + more]
      }),
    }))
}

const dayHours = 24
const dayStart = Date.UTC(2026, 0, 10)

const dayTask: fc.Arbitrary<Task> = fc
  .record({
    from: fc.integer({ min: 0, max: dayHours - 2 }),
    length: fc.integer({ min: 1, max: dayHours }),
    power: fc.integer({ min: 1, max: 22 }),
    share: fc.integer({ min: 1, max: 7 }),
  })
  .map(({ from, length, power, share }) => {
    const to = Math.min(dayHours, from + length)
    return { from, to, power, energy: Math.max(1, Math.floor((power * (to - from) * share) / 10)) }
  })

/** A day of many devices with several kinds of price rises. The bounds are within the requested energy or above it. */
export const dayOfTiers = (direction: SmallTiers['direction']): fc.Arbitrary<SmallTiers> =>
  fc
    .record({
      bases: fc.array(fc.integer({ min: -10, max: 40 }), { minLength: dayHours, maxLength: dayHours }),
      ways: fc.array(fc.array(fc.nat({ max: 20 }), { minLength: 3, maxLength: 3 }), { minLength: 24, maxLength: 24 }),
      wayOf: fc.array(fc.nat({ max: 23 }), { minLength: dayHours, maxLength: dayHours }),
      shares: fc.uniqueArray(fc.integer({ min: 1, max: 22 }), { minLength: 1, maxLength: 3 }),
      tasks: fc.array(dayTask, { minLength: 5, maxLength: 25, size: 'max' }),
    })
    .map(({ bases, ways, wayOf, shares, tasks }) => {
      const total = tasks.reduce((sum, { energy }) => sum + energy, 0)
      const bounds = shares.toSorted((a, b) => a - b).map(share => Math.ceil((total * share) / 20))
      return {
        direction,
        start: dayStart,
        bounds: [...new Set(bounds)],
        counted: 0,
        tasks,
        sitePower: null,
        limit: null,
        prices: bases.map((base, hour) => {
          const rises = (ways[wayOf[hour] ?? 0] ?? []).slice(0, new Set(bounds).size)
          return [base, ...rises.map((_, tier) => base + rises.slice(0, tier + 1).reduce((sum, rise) => sum + rise, 0))]
        }),
      }
    })
