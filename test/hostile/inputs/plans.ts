import { createDevices, createPriced, dayMs, iso, scheduleOf } from '../fixtures.ts'
import { type HostileInput, type Play, playCopies, playOf } from '../input.ts'
import type { Target } from '../target.ts'

const subject = 'plans'
const planStart = Date.UTC(2026, 0, 5)
const hourMs = 3_600_000
const earlier = { 'api-version': '2024-08-24' }
const power = (value: number) => ({ units: 'KW', value })

type Plan = {
  readonly bands?: number
  readonly tiers?: number
  readonly devices?: number
  readonly energyKwh?: (at: number) => number
  readonly direction?: (at: number) => string
  readonly more?: object
  readonly atOnce?: number
}

/** Create a location and devices, and return a play that plans their windows over seven days. */
const openPlan = async (target: Target, windows: number, plan: Plan): Promise<Play> => {
  const {
    bands = 1_440,
    tiers = 1,
    devices: count = 10,
    energyKwh = at => 20 + (at % 7),
    direction = () => 'IMPORT',
    more = {},
  } = plan
  const { hostile } = target
  const location = await createPriced(hostile, scheduleOf(bands, { tiers }))
  const devices = await createDevices(target, Math.min(count, windows))
  const data = Array.from({ length: windows }, (_, at) => ({
    device_id: devices[at % devices.length],
    tariff_direction: direction(at),
    start_time: iso(planStart + (at % 5) * hourMs + (at % 13) * 1_000),
    end_time: iso(planStart + 6 * dayMs + (at % 24) * hourMs - (at % 17) * 1_000),
    max_power: power(11),
    energy: { units: 'KWH', value: energyKwh(at) },
  }))
  const body = JSON.stringify({ data, ...more })
  return playCopies(plan.atOnce ?? 1, () => hostile.send('POST', `/schedules/amount/${location}`, body))
}

const planInput = (name: string, size: number, plan: Plan, more: Partial<HostileInput> = {}): HostileInput => ({
  subject,
  name,
  size,
  unit: 'windows',
  statuses: [200, 422, 503],
  open: (target, windows) => openPlan(target, windows, plan),
  ...more,
})

/** Return an input that plans a window by its duration or by a limit of the price. */
const windowInput = (
  name: string,
  path: string,
  request: object,
  days: number,
  more: Partial<HostileInput> = {},
): HostileInput => ({
  subject,
  name,
  size: days,
  unit: 'days',
  statuses: [200],
  open: async ({ hostile }, size) => {
    const location = await createPriced(hostile, scheduleOf(1_440))
    const body = { start_time: iso(planStart), end_time: iso(planStart + size * dayMs), ...request }
    return playOf(() => hostile.send('POST', `${path}/${location}`, body))
  },
  ...more,
})

/** Plans at the limits of windows, devices, bands and tiers, and schedules of the longest window. */
export const plans: readonly HostileInput[] = [
  planInput('a plan with many windows and tiers', 1_000, { tiers: 4 }, { isShort: true }),
  planInput('a plan with the maximum number of windows', 2_000, {}),
  planInput('a plan with a low power limit', 1_000, { bands: 288, energyKwh: () => 2, more: { max_power: power(20) } }),
  planInput('a plan with 32 tiers', 500, { bands: 48, tiers: 32 }),
  planInput('an infeasible plan', 1_000, { energyKwh: () => 5_000, more: { max_power: power(1) } }, { isShort: true }),
  planInput('a plan with import, export and a threshold', 1_000, {
    direction: at => (at % 2 === 0 ? 'IMPORT' : 'EXPORT'),
    more: { shaving_threshold: { relative: 0.5 } },
  }),
  planInput('plans at once', 300, { atOnce: 6, tiers: 2 }),
  windowInput('the cheapest time of three days', '/schedules/duration', { segment: 'LOW', duration: 1_500 }, 3),
  windowInput(
    'the most expensive contiguous time of three days',
    '/schedules/duration',
    { segment: 'HIGH', duration: 1_500, contiguous: true },
    3,
  ),
  windowInput('all time below a limit', '/schedules/limit', { segment: 'LOW', relative: 0.5 }, 3),
  {
    ...windowInput('the cheapest time of 90 days in the earlier version', '', {}, 90),
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1_440))
      const interval = { start_time: iso(planStart), end_time: iso(planStart + size * dayMs) }
      const query = new URLSearchParams({ ...interval, segment: 'LOW', duration: String(size * 700) })
      return playOf(() => hostile.send('GET', `/slots/time/${location}?${query}`, undefined, earlier))
    },
  },
  {
    ...windowInput('all time below a limit of 90 days in the earlier version', '', {}, 90),
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1_440))
      const interval = { start_time: iso(planStart), end_time: iso(planStart + size * dayMs) }
      const query = new URLSearchParams({ ...interval, segment: 'LOW', relative: '0.5' })
      return playOf(() => hostile.send('GET', `/slots/threshold/${location}?${query}`, undefined, earlier))
    },
  },
]
