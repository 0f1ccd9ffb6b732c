import { describe, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { useSharedSystem } from '../support/system/use-system.ts'
import { runDemo, targetArgs } from './run-demo.ts'

const system = useSharedSystem()
type Named = { readonly id: string; readonly reference_id: string }
type Overview = {
  readonly last_received: string
  readonly currency_codes: readonly string[]
  readonly unpriced: readonly { readonly location_reference_id: string; readonly last_start: string }[]
  readonly tariffs_ending: readonly { readonly location_reference_id: string }[]
}
type Statement = {
  readonly periods: readonly { readonly lines: readonly { readonly name: string; readonly amount: number }[] }[]
}

const findLocation = async (client: Client, reference: string): Promise<string> => {
  const query = new URLSearchParams({ reference_id: reference })
  const { data } = (await client.ask('GET', `/locations?${query}`)) as { readonly data: readonly Named[] }
  return data[0]?.id ?? ''
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const dayMs = 86_400_000

describe('the demo', () => {
  it('fills the account with the last days up to now, and says where to look', { timeout: 240_000 }, async () => {
    const { output, errors, code } = await runDemo('--locations', '7', '--days', '3', ...targetArgs(system.sandbox()))
    expect([code, errors]).toEqual([0, ''])
    for (const line of ['7 locations with tariffs', 'all records processed', `${system.sandbox().base_url}/console`])
      expect(output).toContain(line)
    const client = await system.login()
    const overview = (await client.ask('GET', '/account/overview')) as Overview
    expect(overview.currency_codes).toEqual(['DKK', 'EUR', 'GBP', 'NOK'])
    expect(overview.unpriced).toMatchObject([{ location_reference_id: 'Aarhus kiosk' }])
    expect(overview.tariffs_ending).toMatchObject([{ location_reference_id: 'Berlin home' }])
    const lastStart = Date.parse(overview.unpriced[0]?.last_start ?? '')
    expect(Date.now() - lastStart).toBeLessThan(40 * 60_000 + 240_000)

    const lines = async (reference: string): Promise<readonly string[]> => {
      const id = await findLocation(client, reference)
      const body = { start_date: dayOf(Date.now() - 2 * dayMs), end_date: dayOf(Date.now() + dayMs) }
      const { periods } = (await client.ask('POST', `/statements/${id}`, body)) as Statement
      return periods.flatMap(one => one.lines).map(({ name }) => name)
    }
    expect(await lines('Oslo home')).toContain('Kapasitetsledd')
    expect(await lines('Manchester home')).toEqual(expect.arrayContaining(['Standing charge']))

    const again = await runDemo('--locations', '7', '--days', '1', ...targetArgs(system.sandbox()))
    expect([again.code, again.errors]).toEqual([0, ''])
    expect(await findLocation(client, 'Manchester home (2)')).toMatch(/^loc_/)
  })

  it.each([
    [['--days', '40'], '--days must be a whole number from 1 to 31, not "40".', 2],
    [['--base-url', 'http://127.0.0.1:9', '--account', 'acc_1'], '--account requires --key', 2],
  ] as const)('refuses %j', async (args, message, expected) => {
    const { errors, code } = await runDemo(...args)
    expect([code, errors.includes(message)]).toEqual([expected, true])
  })

  it('says how to start the service if nothing answers', async () => {
    const [, , ...keys] = targetArgs(system.sandbox())
    const { errors, code } = await runDemo('--base-url', 'http://127.0.0.1:9', ...keys)
    expect([code, errors.includes('Start the service with "npm start"')]).toEqual([1, true])
  })
})
