import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const hourMs = 3_600_000
const iso = (at: number): string => new Date(at).toISOString()
const march = Date.UTC(2026, 2, 10, 11)

let visitor: Visitor
let client: Client
beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
})

const makePlan = (name: string, price = 0.25) =>
  makeOne(client, '/plans', {
    name,
    currency_code: 'EUR',
    tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(price) }],
  })

/** Location with three records of 1 kWh in March 2026. */
const makeSite = async (reference: string): Promise<string> => {
  const body = { reference_id: reference, timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const id = await makeOne(client, '/locations', body)
  const records = [0, 1, 2].map(n => bought(id, 1, iso(march + n * hourMs), iso(march + (n + 1) * hourMs)))
  await client.submit(records)
  return id
}

/** Cost of a location in March 2026. Records without a price count as 0. */
const costOf = async (id: string): Promise<number | null> => {
  const body = { start_time: '2026-03-01T00:00:00Z', end_time: '2026-04-01T00:00:00Z' }
  const { data } = (await client.ask('POST', `/costs/interval/${id}`, body)) as {
    data: { tariff: { cost: { value: number | null } } }[]
  }
  return data[0]?.tariff.cost.value ?? null
}

/** Inputs of a tariff with one price. */
const allDay = (price: string) => ({
  'tariff-0-direction': 'IMPORT',
  'tariff-0-type': 'COMMODITY',
  'tariff-0-market': 'false',
  'tariff-0-valid_from-0': '00:00',
  'tariff-0-valid_to-0': '00:00',
  'tariff-0-fixed-0': price,
})

describe('the pages of a plan', () => {
  it('assign it after saying what happens, change a version, end it and remove it', async () => {
    const plan = await makePlan('City plan')
    const site = await makeSite('Plan site 1')
    const page = `/console/plans/${plan}`
    const fields = { locations: `reference:Plan site 1\nloc_000000000000000000000000`, start_date: '2026-03-01' }
    const preview = await visitor.send(`${page}/assign`, `${page}/assign`, fields)
    expect(preview.text).toContain('Priced again: 3 stored records of 1 location.')
    expect(((await client.ask('GET', `/plans/${plan}`)) as { sites: number }).sites).toBe(0)
    const done = await visitor.send(`${page}/assign`, `${page}/assign`, { ...fields, checked: 'true' })
    expect(done.text).toContain('Assigned: 1 location. Not assigned: 1.')
    await until(
      () => costOf(site),
      cost => cost === 0.75,
    )

    const version = { from: '2026-03-05', ...allDay('0.5') }
    const checked = await visitor.send(`${page}/versions/new`, `${page}/versions/new`, version)
    expect(checked.text).toContain('Priced again: 3 stored records of 1 location.')
    const saved = await visitor.send(`${page}/versions/new`, `${page}/versions/new`, { ...version, checked: 'true' })
    expect([saved.status, saved.to]).toEqual([303, `${page}?done=saved`])
    await until(
      () => costOf(site),
      cost => cost === 1.5,
    )
    const shown = await visitor.get(page)
    expect(shown.text).toContain('Version 2, from 2026-03-05')

    const [, assignment] = /assignments\/(pla_[0-9a-f]{24})\/end/.exec(shown.text) ?? []
    const end = `${page}/assignments/${assignment}/end`
    await visitor.send(end, end, { end_date: '2026-03-08' })
    const ended = await visitor.send(end, end, { end_date: '2026-03-08', checked: 'true' })
    expect(ended.to).toBe(`${page}?done=saved`)
    const remove = `${page}/assignments/${assignment}/delete`
    const wrong = await visitor.send(remove, remove, { checked: 'true', confirm: 'other' })
    expect([wrong.status, wrong.text.includes('Type &quot;City plan&quot; to confirm')]).toEqual([400, true])
    const removed = await visitor.send(remove, remove, { checked: 'true', confirm: 'City plan' })
    expect(removed.to).toBe(`${page}?done=deleted`)
    await until(
      () => costOf(site),
      cost => cost === 0,
    )
  })

  it('show the row of an invalid price in its tariff, with all entered values', async () => {
    const plan = await makePlan('Night plan')
    const page = `/console/plans/${plan}/versions/new`
    const refused = await visitor.send(page, page, { from: '2026-03-05', ...allDay('much') })
    expect(refused.status).toBe(400)
    expect(refused.text).toMatch(/id="tariff-0-rows-fault">Tariff 1: Row 1: /)
    expect(refused.text).toContain('name="tariff-0-fixed-0" value="much"')
  })

  it('tell of a plan in use that it cannot be deleted', async () => {
    const plan = await makePlan('Used plan')
    const site = await makeSite('Plan site 2')
    await client.ask('POST', `/plans/${plan}/assignments`, [{ location_id: site, start_date: '2026-03-01' }])
    const page = `/console/plans/${plan}/delete`
    const { text } = await visitor.get(page)
    expect(text).toContain('role="alert"')
    expect(text).toMatch(/1 location has the plan\. Remove the plan from\s<a href="\/console\/plans\/\w+#sites-title">/)
    expect(text).not.toContain(`action="${page}"`)
    const unused = `/console/plans/${await makePlan('Unused plan')}/delete`
    expect((await visitor.get(unused)).text).toContain('No location has the plan.')
    expect((await visitor.send(unused, unused, { confirm: 'Unused plan' })).to).toBe('/console/plans?done=deleted')
  })

  it('keep the derived tariff of a location from being changed by itself', async () => {
    const plan = await makePlan('Kept plan')
    const site = await makeSite('Plan site 3')
    await client.ask('POST', `/plans/${plan}/assignments`, [{ location_id: site, start_date: '2026-03-01' }])
    const { data } = (await client.ask('GET', `/tariffs?location_id=${site}`)) as { data: { id: string }[] }
    const { text } = await visitor.get(`/console/tariffs/${data[0]?.id}`)
    expect(text).toContain('Change the plan instead.')
    expect(text).not.toContain(`/console/tariffs/${data[0]?.id}/edit`)
    expect(text).toContain(`<a href="/console/locations/${site}">Plan site 3</a>`)
    expect(text).toContain(`<a href="/console/plans/${plan}">Kept plan</a>`)
    // The changes of the plan are those of the tariff.
    expect(text).toContain(`<a href="/console/plans/${plan}#history">See who changed the plan</a>`)
    expect((await visitor.get(`/console/plans/${plan}`)).text).toMatch(/id="history"[\s\S]*plan\.create/)
    const link = `<a href="/console/plans/${plan}"><code>${plan}</code></a>`
    for (const list of ['/console/audit-log', '/console/events?event_type=plan.create'])
      expect((await visitor.get(list)).text).toContain(link)
    const event = await client.ask('GET', `/events?object_id=${plan}&limit=1`)
    const { data: events } = event as { data: { id: string }[] }
    expect((await visitor.get(`/console/events/${events[0]?.id}`)).text).toContain(link)
  })
})

describe('the editor of tariffs', () => {
  const page = '/console/tariffs/new'
  const rows = {
    'valid_from-0': '06:00',
    'valid_to-0': '22:00',
    'fixed-0': '0.31',
    'valid_from-1': '22:00',
    'valid_to-1': '06:00',
    'fixed-1': '0,24',
    'months-0': 'All',
    'days-0': 'All',
    'months-1': '',
    'days-1': '',
  }
  const terms = { direction: 'IMPORT', type: 'COMMODITY', market: 'false', display_name: 'Copied' }

  it('names the row of an error, and shows a checked tariff as a week with its effects', async () => {
    const site = await makeSite('Editor site 1')
    const sent = { ...terms, ...rows, locations: site, do: 'check' }
    const wrong = await visitor.send(page, page, { ...sent, 'valid_to-1': '5:00' })
    expect(wrong.status).toBe(400)
    expect(wrong.text).not.toContain('value="save"')
    const price = await visitor.send(page, page, { ...sent, 'fixed-1': 'much' })
    expect(price.text).toMatch(/id="rows-fault">Row 2: /)
    const checked = await visitor.send(page, page, sent)
    expect(checked.status, checked.text).toBe(200)
    expect(checked.text).toContain('class="week"')
    expect(checked.text).toContain('1 location gets the tariff. Priced again: 3 stored records.')
    expect(checked.text).toContain('value="save"')
    expect(await costOf(site)).toBe(0)
    const saved = await visitor.send(page, page, { ...sent, do: 'save' })
    expect(saved.to).toMatch(/^\/console\/tariffs\/trf_[0-9a-f]{24}\?done=created$/)
    await until(
      () => costOf(site),
      cost => cost === 0.93,
    )
  })

  it('copies a tariff to many locations, and lists those that refuse it', async () => {
    const home = await makeHome(client, { import: 0.3125 }, { reference_id: 'Editor home' })
    const { data } = (await client.ask('GET', `/tariffs?location_id=${home}`)) as { data: { id: string }[] }
    const copy = `${page}?copy=${data[0]?.id}`
    expect((await visitor.get(copy)).text).toContain('name="fixed-0" value="0.3125"')
    const sites = [await makeSite('Editor site 2'), await makeSite('Editor site 3'), home]
    const sent = {
      ...terms,
      locations: sites.join('\n'),
      'fixed-0': '0.3125',
      'valid_from-0': '00:00',
      'valid_to-0': '00:00',
    }
    const checked = await visitor.send(copy, page, { ...sent, do: 'check' })
    expect(checked.text).toContain('2 locations get the tariff. Priced again: 6 stored records.')
    expect(checked.text).toMatch(
      new RegExp(
        `1 location refuses the tariff:</p><ul><li><code>${home}</code>: Tariff trf_[0-9a-f]{24} of this location`,
      ),
    )
    // The records are from 12:00 to 15:00 in Berlin. After the contract end, its prices continue for them.
    const late = await visitor.send(copy, page, { ...sent, start: '2026-03-10T13:00', do: 'check' })
    expect(late.text).toContain('2 locations get the tariff. Priced again: 4 stored records.')
    const none = await visitor.send(copy, page, { ...sent, locations: home, do: 'check' })
    expect(none.text).toContain('0 locations get the tariff.')
    expect(none.text).not.toContain('value="save"')
    const made = await visitor.send(copy, page, { ...sent, do: 'save' })
    expect(made.text).toContain('Created: 2 tariffs. Not created: 1.')
    await until(
      () => costOf(sites[1] ?? ''),
      cost => cost === 0.9375,
    )
  })

  it.each([
    ['COMMODITY', 'IMPORT', 'Records from now on have no price until another tariff starts.'],
    ['NON_COMMODITY', 'IMPORT', 'Records from now on have no grid fee until another tariff starts.'],
    ['COMMODITY', 'LOCAL', 'Records from now on have the price 0 until another tariff starts.'],
  ])('says what the end of a tariff of type %s and direction %s does', async (type, direction, effect) => {
    const place = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    const tariff = { location_id: place, direction, type, schedule: priceSchedule(0.1) }
    const path = `/console/tariffs/${await makeOne(client, '/tariffs', tariff)}`
    expect((await visitor.get(`${path}/end`)).text).toContain(effect)
    expect((await visitor.get(`${path}/edit`)).text).toContain('The name changes no stored cost.')
  })

  it('changes prices from a local time on', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([0, 1].map(n => bought(home, 1, iso(march + n * hourMs), iso(march + (n + 1) * hourMs))))
    const { data } = (await client.ask('GET', `/tariffs?location_id=${home}`)) as { data: { id: string }[] }
    const edit = `/console/tariffs/${data[0]?.id}/prices`
    // 11:00 UTC is 12:00 in Berlin. The second record starts at 13:00.
    const sent = {
      effective_from: '2026-03-10T13:00',
      'fixed-0': '0.5',
      'months-0': 'All',
      'days-0': 'All',
      'valid_from-0': '00:00',
      'valid_to-0': '00:00',
    }
    const checked = await visitor.send(edit, edit, { ...sent, do: 'check' })
    expect(checked.text).toContain('Priced again: 1 stored record of 1 location.')
    const saved = await visitor.send(edit, edit, { ...sent, do: 'save' })
    expect([saved.status, saved.to]).toEqual([303, `/console/tariffs/${data[0]?.id}?done=saved`])
    await until(
      () => costOf(home),
      cost => cost === 0.8,
    )
  })
})
