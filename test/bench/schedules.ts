import { type AmountPlan, type AmountPricing, planAmount } from '../../services/domain/schedule/amount.ts'
import type { AmountRequest, PlannedDevice } from '../../services/domain/schedule/amount-request.ts'
import { createPricingPool } from '../../services/domain/tariff/pricing-pool.ts'
import type { Rate } from '../../services/domain/tariff/rate.ts'
import { compileSnapshot } from '../../services/domain/tariff/snapshot.ts'
import { zoneOf } from '../support/oracle/zone.ts'

/** CPU time of a plan, and longest time without a pause. */
export type PlanFigure = {
  readonly name: string
  readonly ms: number
  readonly energyKwh: number
}

const quarterMs = 900_000
const start = Date.UTC(2026, 2, 10)
const slots = 288

/** Return a generator of numbers in [0, 1) that are the same in every run. */
const sequence = (): (() => number) => {
  let state = 20_260_310
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Windows of devices: on quarter hours, or with any start and end in ms. */
type Windows = 'on the grid' | 'off the grid'

const fleet = (count: number, windows: Windows): PlannedDevice[] => {
  const next = sequence()
  const shift = sequence()
  const within = (): number => (windows === 'on the grid' ? 0 : Math.floor(shift() * (quarterMs - 1000)))
  return Array.from({ length: count }, (_, index) => {
    const first = Math.floor(next() * (slots - 16))
    const length = 16 + Math.floor(next() * Math.min(96, slots - first - 16))
    const watts = [3700, 7400, 11_000, 22_000][Math.floor(next() * 4)] ?? 11_000
    const wattHours = Math.floor(watts * length * 0.25 * (0.1 + next() * 0.5))
    return {
      deviceId: `dev_${index}`,
      direction: 'IMPORT',
      start: start + first * quarterMs + within(),
      end: start + (first + length) * quarterMs - within(),
      power: BigInt(watts) * 1_000_000n,
      energy: BigInt(wattHours) * 1_000_000n,
    }
  })
}

const quarterPrices = (): AmountPricing => {
  const next = sequence()
  const starts = Array.from({ length: slots }, (_, index) => start + index * quarterMs)
  const rate: Rate = { fixed: 0n, to: null, surchargeFixed: 120_000_000n, surchargePercentage: 190_000_000_000_000n }
  const daily = (index: number): number => 90 - 70 * Math.cos((index / 96) * 4 * Math.PI) + 40 * (next() - 0.5)
  const hours = [{ validFrom: 0, validTo: 86_400, rate: [rate] }]
  return {
    counted: () => [],
    generation: [],
    snapshot: compileSnapshot(
      {
        locationId: 'loc_bench',
        currencyCode: 'EUR',
        timeZone: zoneOf('Europe/Berlin'),
        calendar: null,
        tariffs: [
          {
            id: 'trf_bench',
            direction: 'IMPORT',
            type: 'COMMODITY',
            marketRates: true,
            contractStart: null,
            contractEnd: null,
            closedAt: null,
            schedule: [{ months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours }] }],
          },
        ],
        importMarket: {
          sourceId: 'mrs_bench',
          starts,
          ends: starts.map(at => at + quarterMs),
          prices: starts.map((_, index) => BigInt(Math.round(daily(index) * 1000)) * 1000n),
          confidences: starts.map(() => 1),
        },
        exportMarket: null,
      },
      createPricingPool(),
    ),
  }
}

/** Return a limit of the site's power: the mean power of all devices, plus `share` of that power. */
const capOf = (devices: readonly PlannedDevice[], share: number): bigint => {
  const wattHours = devices.reduce((sum, { energy }) => sum + Number(energy) / 1e6, 0)
  return BigInt(Math.ceil((wattHours / (slots / 4)) * (1 + share))) * 1_000_000n
}

const planOnce = (request: AmountRequest): { readonly plan: AmountPlan; readonly ms: number } => {
  const market = quarterPrices()
  const startUsage = process.cpuUsage()
  const planned = planAmount(request, market, 0)
  const { user, system } = process.cpuUsage(startUsage)
  if (!planned.ok) throw new Error(planned.refusal.message)
  return { plan: planned.value, ms: (user + system) / 1000 }
}

const fleets = [
  [100, 'on the grid'],
  [1000, 'on the grid'],
  [1000, 'off the grid'],
] as const

/**
 * Measure plans of fleets over three days of quarter hours, without a cap and with tighter and tighter caps. Promise
 * P9. Each figure is the median of five plans by CPU time.
 */
export const planFigures = (): PlanFigure[] =>
  fleets.flatMap(([count, windows]) => {
    const devices = fleet(count, windows)
    return [null, 1, 0.5, 0.3].map(share => {
      const request = { devices, sitePower: share === null ? null : capOf(devices, share), threshold: null }
      const runs = Array.from({ length: 5 }, () => planOnce(request)).sort((a, b) => a.ms - b.ms)
      const { plan, ms } = runs[2] as ReturnType<typeof planOnce>
      const cap = share === null ? 'no cap' : `cap ${Math.round(share * 100)} % above the mean`
      const name = `${count} devices × ${slots} slots, windows ${windows}, ${cap}`
      return { name, ms, energyKwh: plan.devices.reduce((sum, { energy }) => sum + Number(energy) / 1e9, 0) }
    })
  })

if (import.meta.main) for (const figure of planFigures()) console.log(JSON.stringify(figure))
