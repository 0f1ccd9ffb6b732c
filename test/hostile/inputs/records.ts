import { createPriced, dayMs, epoch, longRecord, scheduleOf, submit } from '../fixtures.ts'
import { type HostileInput, sends } from '../input.ts'

const subject = 'records'
const bands = 1_440

/** Records whose cost takes long. */
export const records: readonly HostileInput[] = [
  {
    subject,
    name: 'five records of 364 days at many bands',
    size: bands,
    unit: 'bands',
    statuses: [200],
    // Not in the suite: costing takes both CPUs for seconds, and beside other test files the stores of the probes wait for a CPU.
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      const body = Array.from({ length: 5 }, (_, at) =>
        longRecord(location, 364, { record_reference_id: `long ${at}` }),
      )
      return async () => [await submit(hostile, '/meters/interval', body)]
    },
  },
  {
    subject,
    name: 'instant cost of a year at many bands',
    size: bands,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      const body = longRecord(location, 364)
      return sends(() => hostile.send('POST', '/costs/instant?non_persistent=true', body))
    },
  },
  {
    subject,
    name: 'two register readings a year apart at many bands',
    size: bands,
    unit: 'bands',
    statuses: [200],
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      const data = [0, 364].map(days => ({ time: (epoch + days * dayMs) / 1_000, value: 1_000 + days }))
      const body = { location_id: location, units: 'KWH', data }
      return async () => [await submit(hostile, '/meters/cumulative/epoch', body)]
    },
  },
]
