import { createDevices, createPriced, dayMs, epoch, hourlyRecords, iso, scheduleOf, submitAll } from '../fixtures.ts'
import { type HostileInput, type Play, sends } from '../input.ts'
import type { Target } from '../target.ts'

const subject = 'reads'
const bands = 1_440
const planStart = Date.UTC(2026, 0, 5)

const span = (days: number, more: object = {}): string =>
  JSON.stringify({ start_time: iso(epoch), end_time: iso(epoch + days * dayMs), ...more })

/** Read prices, audits or schedules of a location with many bands. */
const readsPrices =
  (path: string, more: object = {}, atOnce = 1): HostileInput['open'] =>
  async ({ hostile }, size) => {
    const location = await createPriced(hostile, scheduleOf(bands))
    const body = span(size, more)
    return sends(...Array.from({ length: atOnce }, () => () => hostile.send('POST', `${path}/${location}`, body)))
  }

/** Plan windows of ten devices over seven days. */
const plans = async (target: Target, windows: number, tiers: number, more: object = {}): Promise<Play> => {
  const { hostile } = target
  const location = await createPriced(hostile, scheduleOf(bands, { tiers }))
  const devices = await createDevices(target, 10)
  const data = Array.from({ length: windows }, (_, at) => ({
    device_id: devices[at % devices.length],
    start_time: iso(planStart + (at % 5) * 3_600_000),
    end_time: iso(planStart + 6 * dayMs + (at % 24) * 3_600_000),
    max_power: { units: 'KW', value: 11 },
    energy: { units: 'KWH', value: 20 + (at % 7) },
  }))
  const body = JSON.stringify({ data, ...more })
  return sends(() => hostile.send('POST', `/schedules/amount/${location}`, body))
}

/** Plans, and reads of long spans. */
export const reads: readonly HostileInput[] = [
  {
    subject,
    name: 'a plan of many windows at tiers',
    size: 1_000,
    unit: 'windows',
    statuses: [200, 422, 503],
    isShort: true,
    open: (target, size) => plans(target, size, 4),
  },
  {
    subject,
    name: 'prices of 90 days, eight at once',
    size: 90,
    unit: 'days',
    statuses: [200, 503],
    isShort: true,
    open: readsPrices('/prices', {}, 8),
  },
  { subject, name: 'an audit of 60 days', size: 60, unit: 'days', statuses: [200], isShort: true, open: readsPrices('/audits/prices') },
  {
    subject,
    name: 'a session of many records, each shown',
    size: 5_000,
    unit: 'records',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      const session = `session ${performance.now()}`
      await submitAll(hostile, hourlyRecords(location, size, { session_reference_id: session }))
      return sends(() => hostile.send('POST', `/costs/session/${encodeURIComponent(session)}?include_records=true`))
    },
  },
  {
    subject,
    name: 'hourly costs of a location',
    size: 160,
    unit: 'days',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      await submitAll(hostile, hourlyRecords(location, size * 24))
      return sends(() => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, span(size)))
    },
  },
]
