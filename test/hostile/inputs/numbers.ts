import { createLocation, tariffOf } from '../fixtures.ts'
import { type HostileInput, sends, zeros } from '../input.ts'
import { openRatePage } from './connect.ts'

const subject = 'numbers'

/** JSON with the text of a number where `marker` stands as a text. */
const withNumber = (value: object, number: string): string => JSON.stringify(value).replace('"marker"', number)

const flatWith = (rate: object): readonly object[] => [
  { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [rate] }] }] },
]

const hour = { units: 'KWH', start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T01:00:00Z' }

/** Number texts of a 1, zeros and a 1: too long for any field. */
export const numbers: readonly HostileInput[] = [
  {
    subject,
    name: 'zeros in a tariff rate',
    size: 32_000,
    unit: 'zeros',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const body = withNumber(tariffOf(location, flatWith({ fixed: 'marker' })), `0.${zeros(size)}`)
      return sends(() => hostile.send('POST', '/tariffs', body))
    },
  },
  {
    subject,
    name: 'zeros in the value of a record',
    size: 7_800,
    unit: 'zeros',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const one = withNumber({ location_id: location, ...hour, value: 'marker' }, zeros(size))
      const body = `[${Array.from({ length: 100 }, () => one).join(',')}]`
      return sends(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
  {
    subject,
    name: 'zeros in the limit of a list',
    size: 15_000,
    unit: 'zeros',
    statuses: [400, 414],
    open: async ({ hostile }, size) => sends(() => hostile.send('GET', `/customers?limit=${zeros(size)}`)),
  },
  {
    subject,
    name: 'zeros in the cost of a Connect page',
    size: 32_000,
    unit: 'zeros',
    statuses: [400],
    open: async (target, size) => {
      const post = await openRatePage(target)
      const number = `0.${zeros(size)}`
      return sends(() => post('rate_fixed_capture', withNumber({ cost: 'marker' }, number)))
    },
  },
]
