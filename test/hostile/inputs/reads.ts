import { createPriced, dayMs, epoch, hourlyRecords, iso, scheduleOf, submitAll } from '../fixtures.ts'
import { type HostileInput, sends } from '../input.ts'

const subject = 'reads'
const bands = 1_440

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

/** Reads of long spans. */
export const reads: readonly HostileInput[] = [
  {
    subject,
    name: 'prices of 90 days, eight at once',
    size: 90,
    unit: 'days',
    statuses: [200, 503],
    isShort: true,
    open: readsPrices('/prices', {}, 8),
  },
  {
    subject,
    name: 'an audit of 60 days',
    size: 60,
    unit: 'days',
    statuses: [200],
    isShort: true,
    open: readsPrices('/audits/prices'),
  },
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
