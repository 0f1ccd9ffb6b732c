import { hoursOf, scheduleOf } from '../fixtures.ts'
import { type HostileInput, sends, times } from '../input.ts'
import { openRatePage, openSession } from './connect.ts'

const subject = 'Connect'
const mebibyte = 2 ** 20
const unsigned = { authorization: '' }
const maxTextLength = 1_000
const taken = [200, 400, 409]

/** An address whose text in one member fills the body. */
const addressOf = (member: string, text: (size: number) => string): HostileInput['open'] => {
  return async (target, size) => {
    const post = await openSession(target)
    const address = {
      address_line1: '1 Example Street',
      city: 'London',
      post_code: 'SW1A 1AA',
      country_code: 'GB',
      [member]: text(size),
    }
    const data = JSON.stringify({ postal_address: address })
    return sends(() => post('postal_address_capture', data))
  }
}

/** Calls of people who have nothing but a link, and of those who have none. */
export const moreConnect: readonly HostileInput[] = [
  {
    subject,
    name: 'brackets in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: taken,
    open: addressOf('city', size => times(size, '(')),
  },
  {
    subject,
    name: 'words in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: taken,
    open: addressOf('city', size => times(Math.floor(size / 5), 'a-b 1')),
  },
  {
    subject,
    name: 'accents in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: taken,
    open: addressOf('city', size => times(Math.floor(size / 4), 'é́')),
  },
  {
    subject,
    name: 'spaces in the post code of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: taken,
    open: addressOf('post_code', size => `${times(size - 2, ' ')}x`),
  },
  {
    subject,
    name: 'periods of a day',
    size: 9_000,
    unit: 'periods',
    statuses: taken,
    open: async (target, size) => {
      const post = await openRatePage(target, 'TIME_OF_DAY')
      const hours = hoursOf(size).map(one => ({ ...one, rate: undefined, cost: 0.2 }))
      const data = JSON.stringify({ hours })
      return sends(() => post('rate_tod_capture', data))
    },
  },
  {
    subject,
    name: 'members beside the data of a page',
    size: 60_000,
    unit: 'members',
    statuses: taken,
    open: async (target, size) => {
      const post = await openRatePage(target)
      const data = `{"cost":0.2,${Array.from({ length: size }, (_, at) => `"x${at}":1.5`).join(',')}}`
      return sends(() => post('rate_fixed_capture', data))
    },
  },
  {
    subject,
    name: 'levels of data',
    size: 500_000,
    unit: 'levels',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","data":${times(size, '[')}${times(size, ']')}}`
      return sends(() => hostile.send('POST', '/connect', body, unsigned))
    },
  },
  {
    subject,
    name: 'a token as long as a body',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: [400, 404],
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","connect_token":"${times(size, 'c')}"}`
      return sends(() => hostile.send('POST', '/connect', body, unsigned))
    },
  },
  {
    subject,
    name: 'tokens that nobody has, at once',
    size: 200,
    unit: 'calls',
    statuses: [400, 404, 429, 503],
    open: async ({ hostile }, size) => {
      const bodies = Array.from(
        { length: size },
        (_, at) => `{"route":"session_start","connect_token":"cot_${String(at).padStart(32, '0')}"}`,
      )
      return sends(...bodies.map(body => () => hostile.send('POST', '/connect', body, unsigned)))
    },
  },
  {
    subject,
    name: 'the list of providers, again and again at once',
    size: 50,
    unit: 'calls',
    statuses: [200, 503],
    open: async (target, size) => {
      const post = await openSession(target, {
        postal_address: {
          address_line1: '1 Example Street',
          city: 'London',
          post_code: 'SW1A 1AA',
          country_code: 'GB',
        },
      })
      return sends(...Array.from({ length: size }, () => () => post('session_start', '{}')))
    },
  },
  {
    subject,
    name: 'the address to return to',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const callback = `https://app.example.com/?${times(Math.floor(size / 2), '&a')}`
      const body = JSON.stringify({ connect_url: 'https://app.example.com/', callback_url: callback })
      return sends(() => hostile.send('POST', '/connect/token', body))
    },
  },
  {
    subject,
    name: 'the name of a tariff',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: taken,
    open: async (target, size) => {
      const post = await openRatePage(target)
      await post('rate_fixed_capture', '{"cost":0.2}')
      const data = JSON.stringify({ tariff: { name: times(size, 'n') } })
      return sends(() => post('tariff_name_capture', data))
    },
  },
  {
    subject,
    name: 'tiers on the page for advanced tariffs',
    size: 32,
    unit: 'tiers of 360 bands',
    statuses: [200],
    isOnce: true,
    open: async (target, size) => {
      const post = await openRatePage(target, 'ADVANCED')
      const data = JSON.stringify({ tariff: { market_rates: false, schedule: scheduleOf(360, { tiers: size }) } })
      return sends(() => post('rate_advanced_capture', data))
    },
  },
]
