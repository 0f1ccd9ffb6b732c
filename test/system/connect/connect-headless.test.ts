import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ProviderApp, postAsApp, startProviderApp } from '../../support/connect/provider-app.ts'
import { type Client, login } from '../../support/system/client.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'
import { costsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'

const folder = dataFolder()
let system: RunningSystem | undefined
let app: ProviderApp | undefined

beforeAll(async () => {
  system = await startPrepared(folder, { WATTLEDGER_LOG_LEVEL: 'debug' })
  app = await startProviderApp()
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const running = (): RunningSystem => {
  if (system === undefined) throw new Error('the system is not ready')
  return system
}
const provider = (): ProviderApp => {
  if (app === undefined) throw new Error('the app has not started')
  return app
}

type Page = { readonly route: string; readonly data: Readonly<Record<string, never>>; readonly code?: string }

const address = { address_line1: '10 Downing Street', city: 'London', post_code: 'SW1A 2AA', country_code: 'GB' }

const post = async (body: object): Promise<Page> => {
  const answer = await fetch(`${running().sandbox.base_url}/connect`, { method: 'POST', body: JSON.stringify(body) })
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  return (await answer.json()) as Page
}

const tokenOf = async (client: Client, reference: string): Promise<string> => {
  const body = {
    customer_reference_id: `customer-${reference}`,
    location_reference_id: reference,
    callback_uri: 'https://app.example.com/done',
    connect_web_uri: 'https://app.example.com/back',
  }
  return ((await client.ask('POST', '/connect/tariff/token', body)) as { connect_token: string }).connect_token
}

const providerNamed = async (name: string): Promise<string> => {
  const { out } = await runCommand(['providers', 'list', '--country', 'GB', '--json'], { WATTLEDGER_DATA_DIR: folder })
  return (JSON.parse(out) as { id: string; display_name: string }[]).find(one => one.display_name === name)?.id ?? ''
}

/** Post the pages in their fixed order, and read only the last two answers. */
const runHeadless = async (
  token: string,
): Promise<{ readonly summary: Page; readonly end: Page; readonly savedAt: number }> => {
  const submit = (route: string, data?: object) =>
    post({ connect_token: token, route, ...(data === undefined ? {} : { data }) })
  await submit('session_restore')
  await submit('postal_address_capture', { postal_address: address })
  await submit('provider_select', { provider: { id: await providerNamed('Ecotricity') } })
  await submit('tariff_structure_select', { options: ['MARKET'] })
  await submit('market_surcharge_capture', { surcharge: { fixed: 0, percentage: 0 } })
  await submit('tariff_name_capture', { tariff: { name: 'Headless' } })
  const summary = await submit('contract_term_capture')
  const savedAt = performance.now()
  const end = await post({ connect_token: token, route: 'summary_tou_confirm', action: 'SAVE' })
  return { summary, end, savedAt }
}

const locationOf = async (client: Client, token: string): Promise<string> =>
  ((await client.ask('GET', `/connect/tariff/token?connect_token=${token}`)) as { location_id: string }).location_id

/** Import hourly prices around today for Great Britain, as an operator does. */
const importPrices = async (): Promise<void> => {
  const { base_url: baseUrl, operator_key: key } = running().sandbox
  const ask = async (method: string, path: string, body?: object) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { 'X-Operator-Key': key, 'Content-Type': 'application/json' },
      ...init,
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { id: string; data: readonly { id: string; area: string | null }[] }
  }
  const start = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 48 * 3_600_000
  const prices = Array.from({ length: 120 }, (_, hour) => ({
    start_time: new Date(start + hour * 3_600_000).toISOString(),
    end_time: new Date(start + (hour + 1) * 3_600_000).toISOString(),
    value: (100 + (hour % 24)) / 1_000,
  }))
  const { id } = await ask('POST', '/markets', { display_name: 'GB by hand', currency_code: 'GBP', area: 'GB' })
  await ask('PUT', `/markets/${id}/prices`, prices as never)
}

describe('a program that posts the pages of the earlier API version in their fixed order', () => {
  it('connects a market tariff in London; its prices are answered as soon as they exist', async () => {
    const client = await login(running().sandbox, 'test', 'earlier')
    const pricesOf = async (location: string) => {
      const { status, json } = await client.send(
        'GET',
        `/tariffs/rates/${location}?end_time=${new Date(Date.now() + 3_600_000).toISOString()}`,
      )
      return {
        status,
        body: json as { code?: string; currency_code?: string; data?: { tariff: { confidence: number } }[] },
      }
    }
    const without = await tokenOf(client, 'without-prices')
    const first = await runHeadless(without)
    expect(first.summary).toMatchObject({
      route: 'summary_tou_confirm',
      data: { rates: { yesterday: [], today: [], tomorrow: [] } },
    })
    expect(first.end).toMatchObject({
      route: 'session_complete',
      data: { callback_uri: `https://app.example.com/done?fp_cot=${without}` },
    })
    const empty = await locationOf(client, without)
    expect(await pricesOf(empty)).toMatchObject({ status: 422, body: { code: 'no_price_data' } })

    await importPrices()
    const token = await tokenOf(client, 'with-prices')
    const second = await runHeadless(token)
    const { today } = second.summary.data['rates'] as unknown as {
      today: { valid_from: string; tariff: { confidence: number } }[]
    }
    expect(today.length).toBeGreaterThan(20)
    expect(today[0]).toMatchObject({ tariff: { confidence: 1 } })
    const location = await locationOf(client, token)
    const priced = await until(
      () => pricesOf(location),
      ({ status }) => status === 200,
    )
    expect(performance.now() - second.savedAt).toBeLessThan(5_000)
    expect(priced.body.currency_code).toBe('GBP')
    expect(priced.body.data?.map(one => one.tariff.confidence)).toEqual(priced.body.data?.map(() => 1))
    const waited = await until(
      () => pricesOf(empty),
      ({ status }) => status === 200,
      40_000,
    )
    expect(waited.status).toBe(200)
  }, 90_000)

  it('continues after the process was killed, and keeps earlier costs after a DISCONNECT', async () => {
    const client = await login(running().sandbox, 'test', 'earlier')
    const token = await tokenOf(client, 'survivor')
    const submit = (route: string, data: object) => post({ connect_token: token, route, data })
    await submit('postal_address_capture', { postal_address: address })
    await running().kill()
    system = await startSystem(folder, { WATTLEDGER_LOG_LEVEL: 'debug' })
    expect((await post({ connect_token: token, route: 'session_restore' })).route).toBe('provider_select')
    await submit('provider_select', { provider: { id: await providerNamed('Ecotricity') } })
    await submit('tariff_structure_select', { options: ['FIXED'] })
    await submit('rate_fixed_capture', { cost: 0.2455 })
    await post({ connect_token: token, action: 'SAVE' })
    await running().kill()
    system = await startSystem(folder, { WATTLEDGER_LOG_LEVEL: 'debug' })
    expect((await post({ connect_token: token, route: 'summary_fixed_confirm', action: 'SAVE' })).route).toBe(
      'session_complete',
    )
    const again = await login(running().sandbox, 'test')
    const location = await locationOf(await login(running().sandbox, 'test', 'earlier'), token)
    const { data: kept } = (await again.ask('GET', `/tariffs?location_id=${location}`)) as { data: { id: string }[] }
    expect(kept).toHaveLength(1)
    const start = new Date(Date.now() - 2 * 3_600_000).toISOString()
    const end = new Date(Date.now() - 3_600_000).toISOString()
    await again.submit([bought(location, 10, start, end, { record_reference_id: 'before' })])
    expect(await costsOf(again, location)).toEqual({ before: 2.455 })
    expect((await post({ connect_token: token, action: 'DISCONNECT' })).route).toBe('session_complete')
    expect(await post({ connect_token: token, action: 'EDIT' })).toMatchObject({ code: 'action_invalid' })
    await again.submit([bought(location, 1, start, end, { record_reference_id: 'after' })])
    expect(await costsOf(again, location)).toEqual({ before: 2.455, after: 0.2455 })
  }, 90_000)
})

describe('the data that a person enters in the app of a provider', () => {
  it('is never in clear text: not in the data folder, the logs or the answers', async () => {
    const file = join(folder, 'providers.json')
    writeFileSync(
      file,
      JSON.stringify({
        providers: [{ display_name: 'Canary Power', countries: ['GB'], direct: { login_url: provider().loginUrl } }],
      }),
    )
    const imported = await runCommand(['providers', 'import', file, '--json'], { WATTLEDGER_DATA_DIR: folder })
    expect(imported.code).toBe(0)
    const [{ id }] = (JSON.parse(imported.out) as { providers: [{ id: string }] }).providers
    const client = await login(running().sandbox, 'test', 'earlier')
    const token = await tokenOf(client, 'canary')
    await post({ connect_token: token, route: 'postal_address_capture', data: { postal_address: address } })
    await post({ connect_token: token, route: 'provider_select', data: { provider: { id } } })
    const canary = 'canary-4711-of-the-password'
    const connectAddress = `${running().sandbox.base_url}/connect`
    const back = await provider().logIn(connectAddress, token, { user: 'ann', password: canary })
    expect(back.route).toBe('session_redirect')
    expect(JSON.stringify(provider().requests)).toContain(canary)
    const odd = await postAsApp(connectAddress, {
      connect_token: token,
      route: 'auth_metadata_capture',
      data: [canary],
    })
    expect(odd.status).toBe(409)
    const summary = await post({ connect_token: token, route: 'session_restore' })
    expect(JSON.stringify([back, odd, summary])).not.toContain(canary)
    expect(running().output()).not.toContain(canary)
    const folders = [folder, ...(process.getuid?.() === 0 ? ['/var/lib/wattledger'] : [])]
    const found = (text: string): string => {
      try {
        return execFileSync('grep', ['-rlaF', text, ...folders], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        })
      } catch (error) {
        return String((error as { stdout?: string }).stdout ?? '')
      }
    }
    expect(found(canary)).toBe('')
    // The search finds the same data in clear text.
    expect(found('canary')).not.toBe('')
  }, 60_000)
})

describe('the operator', () => {
  const command = async (...words: string[]) => {
    const { code, out, err } = await runCommand([...words, '--json'], { WATTLEDGER_DATA_DIR: folder })
    expect(code, err).toBe(0)
    return JSON.parse(out)
  }

  it('sets the summary name of an account, and reads the reports of people', async () => {
    await command('providers', 'summary-route', running().sandbox.account_id, 'tariff_summary')
    const client = await login(running().sandbox, 'test')
    const address_ = { postal_address: address, location_reference_id: 'named' }
    const urls = { connect_url: 'https://app.example.com', callback_url: 'https://app.example.com' }
    const { connect_token: token } = (await client.ask('POST', '/connect/token', { ...urls, ...address_ })) as {
      connect_token: string
    }
    await post({ connect_token: token, route: 'provider_name_capture', data: { provider: { name: 'Corner Shop' } } })
    await post({ connect_token: token, route: 'tariff_structure_select', data: { options: ['FIXED'] } })
    expect((await post({ connect_token: token, route: 'rate_fixed_capture', data: { cost: 0.3 } })).route).toBe(
      'tariff_summary',
    )
    await post({ connect_token: token, action: 'WRONG_TARIFF_REPORT' })
    await post({ connect_token: token, action: 'WRONG_TARIFF_REPORT' })
    expect(await command('providers', 'reports')).toMatchObject([{ provider: 'Corner Shop', live_mode: false }])
  })

  it('receives the errors of a file of suppliers', async () => {
    const file = join(folder, 'wrong.json')
    writeFileSync(file, JSON.stringify({ providers: [{ display_name: 'X', countries: ['GBR'] }] }))
    const { code, err } = await runCommand(['providers', 'import', file], { WATTLEDGER_DATA_DIR: folder })
    expect([code, err]).toEqual([1, expect.stringContaining('providers[0].countries[0]')])
  })
})

describe('a tariff that its provider has not delivered yet', () => {
  it('has no price and is reported as pending', async () => {
    provider().reply = 'never'
    const client = await login(running().sandbox, 'test', 'earlier')
    const token = await tokenOf(client, 'pending')
    await post({ connect_token: token, route: 'postal_address_capture', data: { postal_address: address } })
    await post({
      connect_token: token,
      route: 'provider_select',
      data: { provider: { id: await providerNamed('Canary Power') } },
    })
    await provider().logIn(`${running().sandbox.base_url}/connect`, token, { user: 'bob' })
    const { data } = (await client.ask('GET', '/locations?reference_id=pending')) as {
      data: { id: string; tariff_status: object }[]
    }
    expect(data).toMatchObject([{ tariff_status: { commodity_import: 'PENDING' } }])
    const [location_id, device_id] = [data[0]?.id ?? '', await makeOne(client, '/devices', { reference_id: 'car' })]
    const times = { start_time: new Date().toISOString(), end_time: new Date(Date.now() + 3_600_000).toISOString() }
    const planRequest = {
      device_id,
      max_power: { units: 'KW', value: 4 },
      energy: { units: 'KWH', value: 1 },
      ...times,
    }
    const prices = client.send('GET', `/tariffs/rates/${location_id}?end_time=${times.end_time}`)
    const cost = client.send('POST', '/costs/instant', { location_id, units: 'KWH', value: 1, ...times })
    const plan = client.send('POST', '/schedules', { location_id, data: [planRequest] })
    for (const { json } of await Promise.all([prices, cost, plan]))
      expect(json).toMatchObject({ code: 'pending_connect' })
  })
})
