import { createLocation, epoch, submit } from '../fixtures.ts'
import type { HostileInput } from '../input.ts'

const hugeValue = 900_000_000

/** Return an input of as many readings of one second each as a submission can have, for a register of a kind. */
const readingsOf = (name: string, valueAt: (index: number) => number | null, register: object = {}): HostileInput => ({
  subject: 'registers',
  name,
  size: 10_000,
  unit: 'readings',
  statuses: [200],
  isOnce: true,
  endsWithinS: 60,
  open: async ({ hostile }, size) => {
    const location = await createLocation(hostile, register)
    const time = epoch / 1_000
    const data = Array.from({ length: size }, (_, i) => ({ time: time + 3_600 + i, value: valueAt(i) }))
    const first = { location_id: location, units: 'KWH', data: [{ time, value: 1_000 }] }
    await submit(hostile, '/meters/cumulative/epoch', JSON.stringify(first))
    const text = JSON.stringify({ location_id: location, units: 'KWH', data })
    return async () => [await submit(hostile, '/meters/cumulative/epoch', text)]
  },
})

const lifetime = { register: { kind: 'LIFETIME' } }

/** Readings of one register whose decisions depend on many others. */
export const registers: readonly HostileInput[] = [
  readingsOf('implausible readings, each below the one before', i => hugeValue - i),
  readingsOf('dips of a lifetime register, up to a last reading', i => (i % 5_000 === 4_999 ? 1_000 : i % 3), lifetime),
  readingsOf('rises and falls of a lifetime register in turn', i => 1_000 - (i % 2), lifetime),
  readingsOf('readings that are withdrawn', () => null),
]
