import { everyDate, hoursOf, scheduleOf } from '../fixtures.ts'
import { type HostileInput, playCopies, playOf, repeat } from '../input.ts'
import type { Caller, Target } from '../target.ts'

const subject = 'Connect'
const address = { address_line1: '10 Downing Street', city: 'London', post_code: 'SW1A 2AA', country_code: 'GB' }
const earlier = { 'api-version': '2024-08-24' }

type Page = {
  readonly route: string
  readonly data: { readonly providers: readonly { readonly id: string; readonly display_name: string }[] }
}

let references = 0

/** Post the JSON text `data` for a page of a session. */
type PostPage = (route: string, data: string) => ReturnType<Caller['send']>

/** Start a session. Its pages need only the Connect token. */
export const openSession = async ({ hostile }: Target, more: object = {}): Promise<PostPage> => {
  references += 1
  const { connect_token: token } = await hostile.ask<{ readonly connect_token: string }>('POST', '/connect/token', {
    connect_url: 'https://app.example.com/back',
    callback_url: 'https://app.example.com/done',
    location_reference_id: `home ${references}`,
    route_options: { advanced_tariff_capture: true, tariff_name_capture: true, contract_term_capture: true },
    ...more,
  })
  return (route, data) =>
    hostile.send('POST', '/connect', `{"connect_token":"${token}","route":"${route}","data":${data}}`, {
      authorization: '',
    })
}

/** Start a session and go to the page that captures prices. */
export const openRatePage = async (target: Target, structure = 'FIXED'): Promise<PostPage> => {
  const post = await openSession(target)
  const submit = async (route: string, data: object): Promise<Page> =>
    JSON.parse((await post(route, JSON.stringify(data))).text)
  await submit('session_start', {})
  const { data } = await submit('postal_address_capture', { postal_address: address })
  await submit('provider_select', {
    provider: { id: data.providers.find(one => one.display_name === 'Ecotricity')?.id },
  })
  const page = await submit('tariff_structure_select', { options: [structure] })
  if (!page.route.startsWith('rate_')) throw new Error(`Connect shows ${page.route} instead of a page for rates.`)
  return post
}

const mebibyte = 2 ** 20
const unsigned = { authorization: '' }
const maxTextLength = 1_000
const acceptedOrRefused = [200, 400, 409]

/** Return the `open` of an input that posts an address with a long text in one member. */
const openAddress = (member: string, text: (size: number) => string): HostileInput['open'] => {
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
    return playOf(() => post('postal_address_capture', data))
  }
}

/** Requests of a Connect link, imports, and requests without a valid token. */
export const connect: readonly HostileInput[] = [
  {
    subject,
    name: 'bands on every date, on the page for advanced tariffs',
    size: 1_440,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    isOnce: true,
    open: async (target, size) => {
      const post = await openRatePage(target, 'ADVANCED')
      const data = JSON.stringify({ tariff: { market_rates: false, schedule: scheduleOf(size, { dates: everyDate }) } })
      return playOf(() => post('rate_advanced_capture', data))
    },
  },
  {
    subject,
    name: 'bands on every date, imported in the earlier version',
    size: 1_440,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    isOnce: true,
    open: async ({ hostile }, size) => {
      references += 1
      const body = JSON.stringify({
        session: {
          customer_reference_id: `household ${references}`,
          location_reference_id: `import ${references}`,
          direction: 'IMPORT',
        },
        postal_address: address,
        tariff: { type: 'TIME_OF_DAY', name: 'Imported', data: scheduleOf(size, { dates: everyDate }) },
      })
      return playOf(() => hostile.send('POST', '/connect/tariff/batch', body, earlier))
    },
  },
  {
    subject,
    name: 'brackets in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: acceptedOrRefused,
    open: openAddress('city', size => repeat(size, '(')),
  },
  {
    subject,
    name: 'words in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: acceptedOrRefused,
    open: openAddress('city', size => repeat(Math.floor(size / 5), 'a-b 1')),
  },
  {
    subject,
    name: 'accents in the city of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: acceptedOrRefused,
    open: openAddress('city', size => repeat(Math.floor(size / 4), 'é́')),
  },
  {
    subject,
    name: 'spaces in the post code of an address',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: acceptedOrRefused,
    open: openAddress('post_code', size => `${repeat(size - 2, ' ')}x`),
  },
  {
    subject,
    name: 'periods of a day',
    size: 9_000,
    unit: 'periods',
    statuses: acceptedOrRefused,
    open: async (target, size) => {
      const post = await openRatePage(target, 'TIME_OF_DAY')
      const hours = hoursOf(size).map(one => ({ ...one, rate: undefined, cost: 0.2 }))
      const data = JSON.stringify({ hours })
      return playOf(() => post('rate_tod_capture', data))
    },
  },
  {
    subject,
    name: 'unknown members in the data of a page',
    size: 60_000,
    unit: 'members',
    statuses: acceptedOrRefused,
    open: async (target, size) => {
      const post = await openRatePage(target)
      const data = `{"cost":0.2,${Array.from({ length: size }, (_, at) => `"x${at}":1.5`).join(',')}}`
      return playOf(() => post('rate_fixed_capture', data))
    },
  },
  {
    subject,
    name: 'nested lists in the data of a page',
    size: 500_000,
    unit: 'levels',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","data":${repeat(size, '[')}${repeat(size, ']')}}`
      return playOf(() => hostile.send('POST', '/connect', body, unsigned))
    },
  },
  {
    subject,
    name: 'a token as long as a body',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: [400, 404],
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","connect_token":"${repeat(size, 'c')}"}`
      return playOf(() => hostile.send('POST', '/connect', body, unsigned))
    },
  },
  {
    subject,
    name: 'unknown tokens, at once',
    size: 200,
    unit: 'calls',
    statuses: [400, 404, 429, 503],
    open: async ({ hostile }, size) => {
      const bodies = Array.from(
        { length: size },
        (_, at) => `{"route":"session_start","connect_token":"cot_${String(at).padStart(32, '0')}"}`,
      )
      return playOf(...bodies.map(body => () => hostile.send('POST', '/connect', body, unsigned)))
    },
  },
  {
    subject,
    name: 'the list of providers, many times at once',
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
      return playCopies(size, () => post('session_start', '{}'))
    },
  },
  {
    subject,
    name: 'the address to return to',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const callback = `https://app.example.com/?${repeat(Math.floor(size / 2), '&a')}`
      const body = JSON.stringify({ connect_url: 'https://app.example.com/', callback_url: callback })
      return playOf(() => hostile.send('POST', '/connect/token', body))
    },
  },
  {
    subject,
    name: 'the name of a tariff',
    size: mebibyte - maxTextLength,
    unit: 'bytes',
    statuses: acceptedOrRefused,
    open: async (target, size) => {
      const post = await openRatePage(target)
      await post('rate_fixed_capture', '{"cost":0.2}')
      const data = JSON.stringify({ tariff: { name: repeat(size, 'n') } })
      return playOf(() => post('tariff_name_capture', data))
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
      return playOf(() => post('rate_advanced_capture', data))
    },
  },
]
