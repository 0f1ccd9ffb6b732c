import { createLocation, createPriced, epoch, scheduleOf } from '../fixtures.ts'
import { type HostileInput, sends, times, zeros } from '../input.ts'

const subject = 'numbers'
const earlier = { 'api-version': '2024-08-24' }
const records = 10_000

const minute = (at: number): string => new Date(epoch + at * 60_000).toISOString()

/** Number texts at the limit of 400 characters in every element of a list, and exponents. */
export const moreNumbers: readonly HostileInput[] = [
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
        `{"location_id":"${location}","units":"KWH","value":${value},"confidence":${value},"start_time":"${minute(at)}","end_time":"${minute(at + 1)}"}`
      const body = `[${Array.from({ length: size }, (_, at) => one(at)).join(',')}]`
      return sends(() => hostile.send('PUT', '/meters/interval', body))
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
      return sends(() => hostile.send('PUT', '/meters/cumulative/epoch', body))
    },
  },
  {
    subject,
    name: 'longest numbers in market prices',
    size: records,
    unit: 'prices',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const { id } = await hostile.ask<{ readonly id: string }>('POST', '/markets', {
        display_name: 'Own',
        currency_code: 'EUR',
      })
      const one = (at: number): string =>
        `{"start_time":"${minute(at)}","end_time":"${minute(at + 1)}","value":0.${zeros(390)}}`
      const body = `[${Array.from({ length: size }, (_, at) => one(at)).join(',')}]`
      return sends(() => hostile.send('PUT', `/markets/${id}/prices`, body))
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
      const schedule = `[{"days_and_hours":[{"hours":[{"valid_from":"00:00:00","valid_to":"00:00:00","rate":[${rates}]}]}]}]`
      const body = `{"location_id":"${location}","direction":"IMPORT","type":"COMMODITY","schedule":${schedule}}`
      return sends(() => hostile.send('POST', '/tariffs', body))
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
      const data = `[{"device_id":"dev_1","start_time":"${minute(0)}","end_time":"${minute(60)}","energy":{"units":"KWH","value":1e-${size}},"max_power":{"units":"KW","value":1e${size}}}]`
      return sends(() => hostile.send('POST', `/schedules/amount/${location}`, `{"data":${data}}`))
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
      const path = `/slots/time/${location}?start_time=${minute(0)}&end_time=${minute(60)}&segment=LOW&duration=${zeros(size)}`
      return sends(() => hostile.send('GET', path, undefined, earlier))
    },
  },
  {
    subject,
    name: 'digits behind the point of an instant',
    size: 900_000,
    unit: 'digits',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      const body = `{"end_time":"2025-01-01T00:00:00.${times(size, '0')}Y"}`
      return sends(() => hostile.send('POST', `/prices/${location}`, body))
    },
  },
]
