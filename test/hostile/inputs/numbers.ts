import { allHours } from '../../support/tariffs/all-hours.ts'
import { createLocation, createMarket, createPriced, epoch, scheduleOf, tariffOf } from '../fixtures.ts'
import { type HostileInput, playOf, repeat, zeros } from '../input.ts'
import { openRatePage } from './connect.ts'

const subject = 'numbers'

/** Return the JSON of a value, with the text of a number instead of the text "marker". */
const withNumber = (value: object, number: string): string => JSON.stringify(value).replace('"marker"', number)

const hour = { units: 'KWH', start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T01:00:00Z' }

const earlier = { 'api-version': '2024-08-24' }
const records = 10_000

const minute = (at: number): string => new Date(epoch + at * 60_000).toISOString()

/** Number texts that are too long for any field, texts of 400 characters in every element of a list, and exponents. */
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
      const body = withNumber(tariffOf(location, allHours([{ fixed: 'marker' }])), `0.${zeros(size)}`)
      return playOf(() => hostile.send('POST', '/tariffs', body))
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
      return playOf(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
  {
    subject,
    name: 'zeros in the limit of a list',
    size: 15_000,
    unit: 'zeros',
    statuses: [400, 414],
    open: async ({ hostile }, size) => playOf(() => hostile.send('GET', `/customers?limit=${zeros(size)}`)),
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
      return playOf(() => post('rate_fixed_capture', withNumber({ cost: 'marker' }, number)))
    },
  },
  {
    subject,
    name: 'longest numbers in the records of a submission',
    size: records,
    unit: 'records',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const value = `0.${zeros(390)}`
      const one = (at: number): string =>
        `{"location_id":"${location}","units":"KWH","value":${value},"confidence":${value},` +
        `"start_time":"${minute(at)}","end_time":"${minute(at + 1)}"}`
      const body = `[${Array.from({ length: size }, (_, at) => one(at)).join(',')}]`
      return playOf(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
  {
    subject,
    name: 'longest numbers in register readings',
    size: records,
    unit: 'readings',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const data = Array.from({ length: size }, (_, at) => `{"time":${zeros(390)},"value":${zeros(390)}${at}}`).join(
        ',',
      )
      const body = `{"location_id":"${location}","units":"WH","data":[${data}]}`
      return playOf(() => hostile.send('PUT', '/meters/cumulative/epoch', body))
    },
  },
  {
    subject,
    name: 'longest numbers in market prices',
    size: records,
    unit: 'prices',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const id = await createMarket(hostile)
      const one = (at: number): string =>
        `{"start_time":"${minute(at)}","end_time":"${minute(at + 1)}","value":0.${zeros(390)}}`
      const body = `[${Array.from({ length: size }, (_, at) => one(at)).join(',')}]`
      return playOf(() => hostile.send('PUT', `/markets/${id}/prices`, body))
    },
  },
  {
    subject,
    name: 'longest numbers in a schedule',
    size: 2_400,
    unit: 'rates',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const rates = Array.from({ length: size }, () => `{"fixed":0.${zeros(390)}}`).join(',')
      const hours = `[{"valid_from":"00:00:00","valid_to":"00:00:00","rate":[${rates}]}]`
      const schedule = `[{"days_and_hours":[{"hours":${hours}}]}]`
      const body = `{"location_id":"${location}","direction":"IMPORT","type":"COMMODITY","schedule":${schedule}}`
      return playOf(() => hostile.send('POST', '/tariffs', body))
    },
  },
  {
    subject,
    name: 'an exponent in a plan',
    size: 999_999_999,
    unit: 'digits',
    growsTo: null,
    statuses: [400],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      const amounts = `"energy":{"units":"KWH","value":1e-${size}},"max_power":{"units":"KW","value":1e${size}}`
      const data = `[{"device_id":"dev_1","start_time":"${minute(0)}","end_time":"${minute(60)}",${amounts}}]`
      return playOf(() => hostile.send('POST', `/schedules/amount/${location}`, `{"data":${data}}`))
    },
  },
  {
    subject,
    name: 'zeros in a query of the earlier version',
    size: 15_000,
    unit: 'zeros',
    statuses: [409, 414],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      const query = `start_time=${minute(0)}&end_time=${minute(60)}&segment=LOW&duration=${zeros(size)}`
      return playOf(() => hostile.send('GET', `/slots/time/${location}?${query}`, undefined, earlier))
    },
  },
  {
    subject,
    name: 'decimals in the seconds of an instant',
    size: 900_000,
    unit: 'digits',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      const body = `{"end_time":"2025-01-01T00:00:00.${repeat(size, '0')}Y"}`
      return playOf(() => hostile.send('POST', `/prices/${location}`, body))
    },
  },
]
