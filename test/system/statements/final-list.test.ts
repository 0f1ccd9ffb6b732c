import { beforeAll, describe, expect, it } from 'vitest'
import { postStatement, refusalOf, type StatementAnswer } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Listed = StatementAnswer & {
  readonly start_date: string
  readonly adjusts: readonly string[]
  readonly time_finalised: string
}
type List = { readonly has_more: boolean; readonly data: readonly Listed[] }

const monthOf = (month: number) => ({
  start_date: `2025-0${month}-01`,
  end_date: `2025-0${month + 1}-01`,
  rounding: { profile: 'LARGEST_REMAINDER' },
  expect: 'NOTHING',
})

const on = (home: string, kwh: number, date: string) =>
  bought(home, kwh, `2025-${date}T10:00:00Z`, `2025-${date}T11:00:00Z`)

const finalise = async (home: string, month: number): Promise<string> => {
  const { id, hash } = await postStatement(client, home, monthOf(month))
  await client.ask('POST', `/statements/${id}/finalise`, { hash })
  return id
}

const list = async (query = ''): Promise<List> => (await client.ask('GET', `/statements${query}`)) as List
const idsOf = ({ data }: List): readonly string[] => data.map(({ id }) => id)

describe('the list of FINAL statements', () => {
  it('has those of a location by falling start date, with their totals and the statements that they adjust', async () => {
    const home = await makeHome(client, { import: 0.123456789 })
    await client.submit([on(home, 10, '03-05'), on(home, 20, '04-05')])
    const march = await finalise(home, 3)
    await postStatement(client, home, monthOf(5))
    await client.submit([on(home, 5, '03-06')])
    const april = await finalise(home, 4)
    const { data } = await list(`?location_id=${home}`)
    expect(data.map(({ id, start_date, adjusts }) => [id, start_date, adjusts])).toEqual([
      [april, '2025-04-01', [march]],
      [march, '2025-03-01', []],
    ])
    // The members are those of the event, with all digits.
    const { text } = await client.send('GET', `/statements?location_id=${home}`)
    const events = await client.send('GET', `/events?object_id=${april}`)
    const amounts = (of: string) => of.match(/"gross":[\d.]+/g)
    expect(amounts(text)?.[0]).toBe(amounts(events.text)?.[0])
    expect(data[0]).not.toHaveProperty('periods.0.lines')
    expect(Math.abs(Date.parse(data[0]?.time_finalised ?? '') - Date.now())).toBeLessThan(600_000)
  })

  it('leaves out drafts and voided statements, and keeps those of a deleted location', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const [march, april] = [await finalise(home, 3), await finalise(home, 4)]
    await client.ask('DELETE', `/statements/${april}`)
    await client.ask('DELETE', `/locations/${home}`)
    expect(idsOf(await list(`?location_id=${home}`))).toEqual([march])
    expect(idsOf(await list(`?location_id=${home}&starting_after=${april}`))).toEqual([march])
  })

  it('is read page by page in both directions, without a statement twice', async () => {
    const homes = [await makeHome(client, { import: 0.1 }), await makeHome(client, { import: 0.1 })]
    for (const home of homes) for (const month of [3, 4]) await finalise(home, month)
    const whole = idsOf(await list('?limit=100'))
    const forward: string[] = []
    for (let page = await list('?limit=1'); ; page = await list(`?limit=1&starting_after=${forward.at(-1)}`)) {
      forward.push(...idsOf(page))
      expect(page.has_more).toBe(forward.length < whole.length)
      if (!page.has_more) break
    }
    expect(forward).toEqual(whole)
    expect(idsOf(await list(`?limit=2&ending_before=${whole[3]}`))).toEqual(whole.slice(1, 3))
  })

  it('refuses an unknown location and an unknown cursor, and shows nothing of the other mode', async () => {
    const unknown = 'loc_0198c0ffee00112233445566'
    expect(refusalOf(await client.send('GET', `/statements?location_id=${unknown}`))).toEqual([
      400,
      'location_not_found',
    ])
    const cursor = 'stm_0198c0ffee00112233445566'
    expect(refusalOf(await client.send('GET', `/statements?starting_after=${cursor}`))).toEqual([
      400,
      'cursor_not_found',
    ])
    const live = await system.login('live')
    expect(await live.ask('GET', '/statements')).toMatchObject({ data: [], has_more: false })
  })
})
