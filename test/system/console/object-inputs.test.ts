import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { paths, type SeenPage, signIn, type Visitor } from '../../support/web/console-visitor.ts'
import { crawlConsole } from '../../support/web/crawl.ts'

const system = useSharedSystem()
const references = { location: 'Leeds home', device: 'Leeds wallbox', customer: 'Leeds, council' } as const
type Kind = keyof typeof references
const both = 'Used twice'
const unknown = 'No such object'

let [visitor, client] = [] as unknown as [Visitor, Client]
let ids = {} as Readonly<Record<Kind | 'plan', string>>

const at = (hours: number): string => new Date(Math.floor(Date.now() / 3_600_000 - hours) * 3_600_000).toISOString()

beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
  const zone = { timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const customer = await makeOne(client, '/customers', { reference_id: references.customer })
  const home = { reference_id: references.location, customer_id: customer, ...zone }
  const location = await makeOne(client, '/locations', home)
  const device = await makeOne(client, '/devices', { reference_id: references.device })
  const tariff = { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.2) }
  await makeOne(client, '/tariffs', { location_id: location, contract_end_date: '2030-01-01T00:00:00Z', ...tariff })
  const plan = await makeOne(client, '/plans', { name: 'Other', currency_code: 'EUR', tariffs: [tariff] })
  for (const path of ['/locations', '/customers', '/devices'])
    await makeOne(client, path, { reference_id: both, ...(path === '/locations' ? zone : {}) })
  await client.submit([{ ...bought(location, 4, at(9), at(8)), device_id: device }])
  ids = { location, device, customer, plan }
}, 120_000)

const decoded = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&')

const attribute = (tag: string, name: string): string | null =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? null

type FoundForm = {
  readonly page: string
  readonly method: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
  /** Kinds of objects that the label of an input names, by its name. */
  readonly inputs: ReadonlyMap<string, readonly Kind[]>
}

const kindsOf = (label: string): readonly Kind[] => {
  if (/\bobject\b/i.test(label)) return ['location', 'device', 'customer']
  return (Object.keys(references) as Kind[]).filter(kind => new RegExp(`\\b${kind}s?\\b`, 'i').test(label))
}

/** Read the forms of a page with the values that a browser would send. */
const formsOf = (page: string, text: string): readonly FoundForm[] =>
  [...text.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag = '', inner = '']) => {
    const fields: Record<string, string> = {}
    const inputs = new Map<string, readonly Kind[]>()
    const labels = new Map([...inner.matchAll(/<label for="([^"]+)">([^<]*)/g)].map(([, id, label]) => [id, label]))
    for (const [, input, kind, area = '', content = ''] of inner.matchAll(
      /<input\b([^>]*)>|<(textarea|select)\b([^>]*)>([\s\S]*?)<\/\2>/g,
    )) {
      const own = input ?? area
      const name = attribute(own, 'name')
      // The visitor reads the tokens of a form itself.
      if (name === null || ['csrf', 'form'].includes(name) || attribute(own, 'type') === 'checkbox') continue
      const options = [...content.matchAll(/<option value="([^"]*)"( selected)?/g)]
      const chosen = options.find(([, , selected]) => selected !== undefined) ?? options[0]
      const value = kind === 'select' ? (chosen?.[1] ?? '') : kind === 'textarea' ? content : attribute(own, 'value')
      fields[name] = decoded(value ?? '')
      const kinds = attribute(own, 'type') === 'hidden' || kind === 'select' ? [] : kindsOf(labels.get(name) ?? '')
      if (kinds.length > 0) inputs.set(name, kinds)
    }
    const [method, action] = [attribute(tag, 'method') ?? 'get', decoded(attribute(tag, 'action') ?? '')]
    return { page, method, action, fields, inputs }
  })

/** Values of other inputs that have no first value. */
const needed: Readonly<Record<string, string>> = {
  energy: '5',
  power: '11',
  start_date: '2026-01-01',
  price: '9.9',
  timezone: 'Europe/Berlin',
  currency_code: 'EUR',
  file: `start,end,value,unit,location_reference\n${at(5)},${at(4)},1,KWH,${references.location}\n`,
  name: 'Standing charge',
  component: 'base',
  kind: 'FIXED',
  do: 'check',
  start: '2029-12-01T00:00',
}

const send = async ({ page, method, action, fields, inputs }: FoundForm, name: string, value: string) => {
  const filled = Object.fromEntries(Object.entries(fields).map(([key, text]) => [key, text || (needed[key] ?? '')]))
  for (const other of inputs.keys()) filled[other] = ''
  const schedule =
    action === '/console/schedules/new' ? { start_time: '2026-01-10T18:00', end_time: '2026-01-11T06:00' } : {}
  const members = { ...filled, ...schedule, ...(action.endsWith('/new') ? { do: 'check' } : {}), [name]: value }
  if (action === '/console/simulations') Object.assign(members, { plan: ids.plan })
  if (method !== 'get') return visitor.send(page, action, members)
  const seen = await visitor.get(`${action}?${new URLSearchParams(members)}`)
  return seen.status === 303 ? visitor.get(seen.to ?? '') : seen
}

const errorOf = ({ text }: SeenPage): string => {
  const [, notice] = /role="alert">([^<]*)</.exec(text) ?? []
  const [, fault] = /<p class="fault"[^>]*>([^<]*)</.exec(text) ?? []
  return decoded(notice ?? fault ?? '')
}

/** The content of a page, without its forms, its requests to the API, and the name that the visitor entered. */
const contentOf = ({ text }: SeenPage, kind: Kind): string => {
  const name = references[kind]
  const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? []
  const names = [`reference:${name}`, name].flatMap(one => [new URLSearchParams([['', one]]).toString().slice(1), one])
  return names.reduce(
    (content, one) => content.replaceAll(one, ids[kind]),
    main.replaceAll(/<(form|details)\b[\s\S]*?<\/\1>|<time datetime="[^"]*"/g, '').replaceAll('&amp;', '&'),
  )
}

describe('each input of the console that names a location, a device or a customer', () => {
  it('accepts the own reference as it is, and names an unknown or ambiguous one', { timeout: 300_000 }, async () => {
    const forms = new Map<string, FoundForm>()
    const starts = [
      ...[...paths, '/console/audit-log', `/console/plans/${ids.plan}/assign`, '/console/corrections'],
      ...[`/console/schedules?location_id=${ids.location}`, `/console/statements?location_id=${ids.location}`],
      ...['locations', 'devices', 'tariffs', 'charges'].map(name => `/console/${name}/new`),
      ...[`/console/locations/${ids.location}`, `/console/locations/${ids.location}/edit`],
    ]
    await crawlConsole(system.sandbox().base_url, starts, async (_, path) => {
      const { text } = await visitor.get(path)
      for (const form of formsOf(path, text))
        for (const name of form.inputs.keys()) {
          const key = `${form.method} ${form.action.replaceAll(/[a-z]{3}_[0-9a-f]{24}/g, ':id')} ${name}`
          if (!forms.has(key)) forms.set(key, form)
        }
      return text
    })
    const faults: string[] = []
    for (const [key, form] of forms) {
      const name = key.split(' ')[2] ?? ''
      const kinds = form.inputs.get(name) ?? []
      for (const kind of kinds) {
        const named = await send(form, name, references[kind])
        if (named.status !== (named.to === null ? 200 : 303) || errorOf(named) !== '')
          faults.push(`${key}: ${references[kind]}: ${named.status} ${errorOf(named)}`)
        const [, entered = ''] = new RegExp(`<input id="${name}"[^>]*value="([^"]*)"`).exec(named.text) ?? []
        if (entered.startsWith('reference:')) faults.push(`${key}: shows ${entered}`)
        if (form.method !== 'get') continue
        const byId = await send(form, name, ids[kind])
        if (contentOf(named, kind) !== contentOf(byId, kind)) faults.push(`${key}: another page than for ${ids[kind]}`)
      }
      const missing = await send(form, name, unknown)
      // A filter on several kinds shows an empty list.
      const isFilter = ['object', 'object_id'].includes(name) && /events|audit-log/.test(form.action)
      if (
        isFilter
          ? missing.status !== 200
          : !missing.text.includes(unknown) ||
            (missing.status === 200 && !/not created|Not assigned|does not exist|No location/.test(missing.text))
      )
        faults.push(`${key}: accepts ${unknown}: ${missing.status} ${errorOf(missing)}`)
      if (kinds.length < 2) continue
      const unclear = await send(form, name, both)
      if (!/use the prefix location:/.test(decoded(unclear.text)))
        faults.push(`${key}: ${both}: ${unclear.status} ${errorOf(unclear)}`)
    }
    expect(faults).toEqual([])
    expect(forms.size).toBeGreaterThan(20)
  })
})
