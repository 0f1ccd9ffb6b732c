import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const march = 'start=2026-03-01&end=2026-04-01'

let visitor: Visitor
let client: Client
let home = ''

/** A location with 10 kWh at 0.30 in March 2026 and a fee of 2 each month: 5 EUR. */
beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
  home = await makeHome(client, { import: 0.3 })
  await makeOne(client, '/charges', {
    location_id: home,
    kind: 'FIXED',
    name: 'Standing fee',
    component: 'base',
    price: 2,
    per: 'MONTH',
  })
  await client.submit([bought(home, 10, '2026-03-10T11:00:00Z', '2026-03-10T12:00:00Z')])
})

const statementPage = async (): Promise<string> => {
  const { text } = await visitor.get(`/console/statements?location_id=${home}&${march}`)
  return /\/console\/statements\/stm_[0-9a-f]+/.exec(text)?.[0] ?? expect.fail(text)
}

const stored = async (page: string): Promise<{ readonly status: string }> =>
  client.ask('GET', page.replace('/console', ''))

describe('the page of a statement', () => {
  it('has its own address, the calculation of each line and the prices of each line', async () => {
    const { status, text } = await visitor.get(`${await statementPage()}?prices=1`)
    expect(status, text).toBe(200)
    expect(text).toContain('title="Exact: 5 EUR"')
    expect(text).toContain('1 month × 2')
    expect(text).toContain('0.3 EUR/kWh')
    const [, back = ''] = /href="([^"]*)#compared">Compare with the month before/.exec(text) ?? expect.fail(text)
    expect((await visitor.get(back.replaceAll('&amp;', '&'))).text).toContain('id="compared"')
    const csv = await visitor.get(`${await statementPage()}?csv=lines`)
    expect(csv.text).toMatch(/Energy,energy,energy,10 kWh,0\.3,3,10 kWh × 0\.3,trf_/)
  })

  it('names the location and its customer', async () => {
    const customer = await makeOne(client, '/customers', { display_name: 'Ada & Sons' })
    await client.ask('PATCH', `/locations/${home}`, { display_name: 'Depot <North>', customer_id: customer })
    const { text } = await visitor.get(await statementPage())
    expect(text).toContain(`<a href="/console/locations/${home}">Depot &lt;North&gt;</a>`)
    expect(text).toContain(`<a href="/console/customers/${customer}">Ada &amp; Sons</a>`)
  })

  it('compares the bill with another plan', async () => {
    const plan = await makeOne(client, '/plans', {
      name: 'Cheaper plan',
      currency_code: 'EUR',
      tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.1) }],
    })
    await makeOne(client, '/plans', { name: 'Plan in pounds', currency_code: 'GBP', tariffs: [] })
    const page = await statementPage()
    const before = (await visitor.get(page)).text
    const [, choice = ''] = /href="([^"#]+)#beside">Choose a plan to compare</.exec(before) ?? []
    const offered = (await visitor.get(choice)).text
    expect(offered).toContain(`<option value="${plan}">Cheaper plan</option>`)
    expect(offered).not.toContain('Plan in pounds')
    // 10 kWh at 0.10 without a fee: 1 EUR, so 4 EUR less.
    const chosen = (await visitor.get(`${page}?plan=${plan}`)).text
    const [, part = ''] = /data-load="([^"]*)"/.exec(chosen) ?? []
    const { text } = await visitor.get(part.replaceAll('&amp;', '&'))
    expect(text).toMatch(/With Cheaper plan the bill is <strong><data class="amount" value="1"/)
    expect(text).toMatch(/value="4" title="Exact: 4 EUR">4\.00&nbsp;EUR<\/data> less/)
  })

  it('is finalised only with the gaps accepted, listed, and voided with its first day typed', async () => {
    const page = await statementPage()
    const finalise = `${page}/finalise`
    const refused = await visitor.send(finalise, finalise)
    expect([refused.status, refused.text.includes('role="alert"')]).toEqual([400, true])
    expect((await stored(page)).status).toBe('DRAFT')
    const done = await visitor.send(finalise, finalise, { allow_incomplete: 'on' })
    expect([done.status, done.to]).toEqual([303, `${page}?done=finalised`])
    expect((await stored(page)).status).toBe('FINAL')
    const list = await visitor.get(`/console/statements?final_of=${home}`)
    expect(list.text).toContain(`<a href="${page}">2026-03-01 to 2026-04-01</a>`)
    expect(list.text).toContain('title="Exact: 5 EUR"')
    const other = await makeHome(client, { import: 0.1 })
    const { text } = await visitor.get(`/console/statements?final_of=${other}`)
    expect([text.includes(page), text.includes('No final statement of this location.')]).toEqual([false, true])
    const final = await visitor.get(page)
    expect(final.text).toMatch(/finalised with gaps[\s\S]*Changes[\s\S]*statement\.finalise/)
    expect(final.text).not.toContain('The amounts can still change.')
    const voided = `${page}/void`
    expect((await visitor.get(`${page}?done=finalised`)).text).toContain(`href="${voided}"`)
    const wrong = await visitor.send(voided, voided, { confirm: '2026-03-02' })
    expect([wrong.status, (await stored(page)).status]).toEqual([400, 'FINAL'])
    const right = await visitor.send(voided, voided, { confirm: '2026-03-01' })
    expect([right.to, (await stored(page)).status]).toEqual([`${page}?done=voided`, 'DRAFT'])
  })

  it('refuses to finalise a statement that changed after the page was shown', async () => {
    const page = await statementPage()
    const finalise = `${page}/finalise`
    const wrong = { hash: 'f'.repeat(64), allow_incomplete: 'on' }
    const refused = await visitor.send(finalise, finalise, wrong)
    expect([refused.status, (await stored(page)).status]).toEqual([400, 'DRAFT'])
  })
})

/** Text of a page without tags, with single spaces. */
const textOf = (markup: string): string =>
  markup
    .replace(/<[^<>]*>/g, ' ')
    .replaceAll('&nbsp;', ' ')
    .replace(/\s+/g, ' ')

describe('the power of a statement', () => {
  const pageOf = async (charge: object): Promise<{ readonly text: string; readonly csv: string }> => {
    const plant = await makeHome(client, { import: 0.2 }, { timezone: 'UTC' })
    const press = await makeOne(client, '/devices', { reference_id: `press-${plant}` })
    const oven = await makeOne(client, '/devices', { reference_id: `oven-${plant}` })
    await makeOne(client, '/charges', {
      location_id: plant,
      kind: 'DEMAND',
      name: 'Peak power',
      component: 'grid',
      start_date: '2026-02-01',
      price: 8,
      interval_minutes: 60,
      per: 'MONTH',
      ...charge,
    })
    const hour = (device_id: string, kwh: number, day: string) =>
      bought(plant, kwh, `${day}T10:00:00Z`, `${day}T11:00:00Z`, { device_id })
    await client.submit([
      hour(press, 30, '2026-02-05'),
      hour(press, 40, '2026-03-03'),
      hour(oven, 10, '2026-03-03'),
      hour(press, 36, '2026-03-10'),
      hour(oven, 25, '2026-03-17'),
      hour(oven, 7, '2026-03-24'),
    ])
    const path = `/console/statements?location_id=${plant}&${march}`
    const [page, csv] = [await visitor.get(path), await visitor.get(`${path}&csv=peaks-1`)]
    return { text: textOf(page.text), csv: csv.text }
  }

  it('shows all powers of a mean, each with its time and devices', async () => {
    const { text, csv } = await pageOf({ highest: 3, distinct_days: true })
    // 40 + 10 = 50, 36 and 25 kW are the highest hours of three days: (50 + 36 + 25) / 3 = 37.
    expect(text).toContain('The measured power is 37 kW: the mean of these 3 powers.')
    expect(text).toMatch(/03 Mar 2026, 10:00 UTC 03 Mar 2026, 11:00 UTC 50 kW press-\S+ 80 %, oven-\S+ 20 %/)
    expect(text).toMatch(/10 Mar 2026, 10:00 UTC 10 Mar 2026, 11:00 UTC 36 kW press-\S+ 100 %/)
    expect(text).toMatch(/17 Mar 2026, 10:00 UTC 17 Mar 2026, 11:00 UTC 25 kW oven-\S+ 100 %/)
    expect(csv.trim().split('\r\n').length).toBe(4)
    expect(csv).toMatch(/2026-03-17T10:00:00\S*,2026-03-17T11:00:00\S*,25,dev_\w+ 1/)
  })

  it('shows the weights of powers, and the earlier months of a rule', async () => {
    const { text } = await pageOf({
      highest: 2,
      distinct_days: true,
      ratchet: { share: 2, months: 1 },
      windows: [{ months: ['Mar'], weight: 0.5 }, { weight: 1 }],
    })
    // (50 × 0.5 + 36 × 0.5) / 2 = 21.5 kW. February has (30 + 0) / 2 = 15 kW, so at least 30 kW are billed.
    expect(text).toContain('The measured power is 21.5 kW: the mean of these 2 powers times their weights.')
    expect(text).toContain('set by the highest earlier month, measured 21.5 kW')
    expect(text).toMatch(/50 kW × 0\.5 press/)
    expect(text).toMatch(/Power of earlier months.*2026-02 15 kW records/)
  })

  it('says that a power over each day is the sum of the days, or that lower powers count too', async () => {
    const daily = await pageOf({ over: 'DAY', per: 'DAY', start_date: '2026-03-01', end_date: '2026-03-11' })
    expect(daily.text).toContain('The measured power is 86 kW: the sum of these 10 powers.')
    const many = await pageOf({ highest: 20 })
    // (50 + 36 + 25 + 7) / 20 = 5.9
    expect(many.text).toContain('The measured power is 5.9 kW. It also counts lower powers. These are the 12 highest.')
  })
})

describe('the powers of many charges', () => {
  it('are explained for four lines, and the other lines are named', async () => {
    const plant = await makeHome(client, { import: 0.2 }, { timezone: 'UTC' })
    const demand = (number: number) =>
      makeOne(client, '/charges', {
        location_id: plant,
        kind: 'DEMAND',
        name: `Power ${number}`,
        component: 'grid',
        price: number,
        interval_minutes: 60,
        per: 'MONTH',
        start_date: '2026-03-01',
      })
    const pageText = async () => textOf((await visitor.get(`/console/statements?location_id=${plant}&${march}`)).text)
    const explained = (text: string) => [...text.matchAll(/Power of “(Power \d)”/g)].map(([, name]) => name)
    const firstFour = ['Power 1', 'Power 2', 'Power 3', 'Power 4']
    for (const number of [1, 2, 3, 4]) await demand(number)
    await client.submit([bought(plant, 30, '2026-03-03T10:00:00Z', '2026-03-03T11:00:00Z')])
    const four = await pageText()
    expect(explained(four)).toEqual(firstFour)
    expect(four).not.toContain('The API also explains')
    for (const number of [5, 6]) await demand(number)
    const six = await pageText()
    expect(explained(six)).toEqual(firstFour)
    expect(six).toContain('The page explains 4 lines of power. The API also explains “Power 5”, “Power 6”.')
  })
})

/** Find an element by its class, without its tags and with single spaces. */
const effectsOf = async (path: string): Promise<string> => {
  const [, inner = ''] = /<div class="lead effects">([\s\S]*?)<\/div>/.exec((await visitor.get(path)).text) ?? []
  return inner.replace(/<[^<>]*>/g, '').replace(/\s+/g, ' ')
}

describe('the deletion and the change of a charge', () => {
  it('say before which final statements have days of the charge, and that no stored cost changes', async () => {
    const place = await makeHome(client, { import: 0.3 })
    const fee = (start_date: string | null, end_date: string | null) =>
      makeOne(client, '/charges', {
        location_id: place,
        kind: 'FIXED',
        name: 'Fee',
        price: 2,
        per: 'MONTH',
        start_date,
        end_date,
      })
    const [open, april] = [await fee(null, null), await fee('2026-04-01', '2026-05-01')]
    const pages = [open, april].map(id => `/console/charges/${id}`)
    for (const page of pages)
      for (const action of ['delete', 'edit'])
        expect(await effectsOf(`${page}/${action}`)).toMatch(/No stored cost of a record changes.*No final statement/)
    for (const [start_date, end_date] of [
      ['2026-02-01', '2026-03-01'],
      ['2026-03-01', '2026-04-01'],
    ]) {
      const { id, hash } = (await client.ask('POST', `/statements/${place}`, { start_date, end_date })) as {
        readonly [Name in 'id' | 'hash']: string
      }
      await client.ask('POST', `/statements/${id}/finalise`, { hash, allow_incomplete: true })
    }
    expect(await effectsOf(`${pages[0]}/delete`)).toContain(
      '2 final statements of the location have days of the charge.',
    )
    expect(await effectsOf(`${pages[0]}/edit`)).toContain('2 final statements of the location have days of the charge.')
    expect(await effectsOf(`${pages[1]}/delete`)).toMatch(
      /lose the line of the charge from 2026-04-01 until the day before 2026-05-01.*No final statement/,
    )
    const wrong = await visitor.send(`${pages[0]}/delete`, `${pages[0]}/delete`, { confirm: 'Fees' })
    expect([wrong.status, wrong.text.includes('Type &quot;Fee&quot; to confirm.')]).toEqual([400, true])
    expect((await visitor.send(`${pages[0]}/delete`, `${pages[0]}/delete`, { confirm: 'Fee' })).status).toBe(303)
  })
})
