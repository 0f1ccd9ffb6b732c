import { describe, expect, it } from 'vitest'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()

const visit = () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  return signIn(base, account, key)
}

/** Return the id at the end of a path of the console. */
const idOf = (path: string | null): string => /[a-z]{3}_[0-9a-f]{24}/.exec(path ?? '')?.[0] ?? ''

describe('the form of a charge', () => {
  it('creates a fee and a demand with steps, without JSON', async () => {
    const client = await system.login()
    const home = await makeHome(client, {}, { reference_id: 'North depot' })
    const page = '/console/charges/new'
    const visitor = await visit()
    const fee = await visitor.send(page, page, {
      location_id: home,
      kind: 'FIXED',
      name: 'Standing charge',
      price: '9.900000001',
      per: 'MONTH',
      start_date: '2026-01-01',
      terms: '{"prorate": "NONE"}',
    })
    expect(await client.ask('GET', `/charges/${idOf(fee.to)}`)).toMatchObject({
      kind: 'FIXED',
      price: 9.900000001,
      per: 'MONTH',
      start_date: '2026-01-01',
      prorate: 'NONE',
    })
    const demand = await visitor.send(page, page, {
      location_id: home,
      kind: 'DEMAND',
      name: 'Capacity',
      steps: '0 125\n2 206',
      per: 'MONTH',
    })
    expect(await client.ask('GET', `/charges/${idOf(demand.to)}`)).toMatchObject({
      steps: [
        { from_kw: 0, amount: 125 },
        { from_kw: 2, amount: 206 },
      ],
    })
    const list = await visitor.get('/console/charges')
    expect(list.text).toContain(`<a href="/console/locations/${home}">North depot</a>`)
    expect((await visitor.get('/console/prices')).text).toContain('<option value="North depot">')
  })

  it('shows the error beside its input, of the form and of the API, with all entered values', async () => {
    const page = '/console/charges/new'
    const visitor = await visit()
    const home = await makeHome(await system.login(), {})
    const filled = { location_id: home, kind: 'FIXED', name: 'Fee', price: '9,90' }
    const wrongNumber = await visitor.send(page, page, filled)
    expect(wrongNumber.status).toBe(400)
    expect(wrongNumber.text).toContain('id="price-fault">Price must be a number, such as 9.90.')
    expect(wrongNumber.text).toContain('<option value="FIXED" selected>')
    expect(wrongNumber.text).toContain('value="9,90"')
    const wrongDate = await visitor.send(page, page, { ...filled, price: '9.90', start_date: '2026-02-30' })
    expect(wrongDate.text).toContain('id="start_date-fault"')
  })
})

describe('the form of a calendar', () => {
  it('creates and changes lists of days, with one day on each line', async () => {
    const client = await system.login()
    const visitor = await visit()
    const page = '/console/calendars/new'
    const created = await visitor.send(page, page, {
      name: 'Fairs',
      country_code: 'DE',
      add: '2026-12-24 Christmas Eve',
      remove: '2026-10-03',
      day_types: 'fair: 2026-09-19, 2026-09-20',
    })
    const id = idOf(created.to)
    expect(await client.ask('GET', `/calendars/${id}`)).toMatchObject({
      add: [{ date: '2026-12-24', name: 'Christmas Eve' }],
      remove: ['2026-10-03'],
      day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
    })
    const edit = `/console/calendars/${id}/edit`
    const { text } = await visitor.get(edit)
    expect(text).toContain('>2026-12-24 Christmas Eve</textarea>')
    expect(text).toContain('>fair: 2026-09-19, 2026-09-20</textarea>')
    const changes = { name: 'Fairs', country_code: 'DE', state: '', add: '', remove: '2026-10-03', day_types: '' }
    const checked = await visitor.send(edit, edit, changes)
    expect(checked.text).toContain('Save changes')
    const [, confirmation = ''] = checked.text.split(`action="${edit}">`)
    const hidden = [...confirmation.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
    const saved = await visitor.send(edit, edit, Object.fromEntries(hidden.map(([, name, value]) => [name, value])))
    expect(saved.to).toBe(`/console/calendars/${id}?done=saved`)
    expect(await client.ask('GET', `/calendars/${id}`)).toMatchObject({
      add: [],
      remove: ['2026-10-03'],
      day_types: [],
    })
    const wrong = await visitor.send(edit, edit, { ...changes, remove: '2026-02-30' })
    expect(wrong.text).toContain('id="remove-fault"')
  })
})

describe('the page of a deletion', () => {
  it('counts the tariffs that end and the locations that are deleted', async () => {
    const client = await system.login()
    const customer = await makeOne(client, '/customers', { reference_id: 'Owner of two' })
    const home = await makeHome(client, { import: 0.3, export: 0.1 }, { customer_id: customer })
    await makeHome(client, {}, { customer_id: customer })
    const visitor = await visit()
    const text = async (path: string) => (await visitor.get(`/console/${path}/delete`)).text
    expect(await text(`locations/${home}`)).toContain('2 tariffs of the location end now.')
    expect(await text(`customers/${customer}`)).toContain('Deleted too: 2 locations of the customer.')
  })
})

describe('a list with devices', () => {
  it('shows their own references, and the deletion of a device says when its newest record was received', async () => {
    const client = await system.login()
    const home = await makeHome(client, { import: 0.3 })
    const device = await makeOne(client, '/devices', { reference_id: 'Charger 4711' })
    const interval = { start: '2026-03-10T11:00:00Z', end: '2026-03-10T12:00:00Z' }
    const record = bought(home, 1, interval.start, interval.end)
    await client.submit([{ ...record, device_id: device, session_reference_id: 'Named session' }])
    const visitor = await visit()
    const deletion = async (id: string) => (await visitor.get(`/console/devices/${id}/delete`)).text
    const day = new Date().toISOString().slice(0, 8)
    expect(await deletion(device)).toMatch(
      new RegExp(`of the device was received on <time datetime="${day}.*records</a> stay for the costs of the account`),
    )
    const unused = await makeOne(client, '/devices', { reference_id: 'Charger 4712' })
    expect(await deletion(unused)).toContain('The device has no records. New records are refused within 60 s.')
    const link = `<a href="/console/devices/${device}">Charger 4711</a>`
    expect((await visitor.get(`/console/records?location_id=${home}`)).text).toContain(link)
    expect((await visitor.get('/console/sessions?reference=Named+session')).text).toContain(link)
  })
})
