import { everyDate, scheduleOf } from '../fixtures.ts'
import { type HostileInput, sends } from '../input.ts'
import type { Caller, Target } from '../target.ts'

const subject = 'Connect'
const address = { address_line1: '10 Downing Street', city: 'London', post_code: 'SW1A 2AA', country_code: 'GB' }
const earlier = { 'api-version': '2024-08-24' }

type Page = {
  readonly route: string
  readonly data: { readonly providers: readonly { readonly id: string; readonly display_name: string }[] }
}

let references = 0

/** Posts JSON of `data` for a page of a session. */
type PostPage = (route: string, data: string) => ReturnType<Caller['send']>

/** Start a session; the visitor has nothing but the token. */
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

/** Go to the page that captures prices. */
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
  if (!page.route.startsWith('rate_')) throw new Error(`Connect is at ${page.route}`)
  return post
}

/** What a link alone may ask for, and imports without pages. */
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
      return sends(() => post('rate_advanced_capture', data))
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
      return sends(() => hostile.send('POST', '/connect/tariff/batch', body, earlier))
    },
  },
]
