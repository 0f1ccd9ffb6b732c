import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marketAreasOf } from '../../services/platform/place/market-areas.ts'
import { putMarketPrices } from '../../services/platform/postgres/market-prices.ts'
import { createMarket } from '../../services/platform/postgres/markets.ts'
import { withOperator } from '../../services/platform/postgres/transaction.ts'
import { type ConnectService, connectAccount, londonAddress, openConnectService, tokenFor, visit } from '../support/connect-service.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Call, listed } from '../support/service.ts'

let store: TestDatabase | undefined
let held: ConnectService | undefined

beforeAll(async () => {
  store = await openTestDatabase()
  held = await openConnectService(store.database)
})
afterAll(async () => {
  await store?.[Symbol.asyncDispose]()
})

const service = (): ConnectService => {
  if (held === undefined) throw new Error('the service is not open')
  return held
}

const hourMs = 3_600_000
const [whole = '', region = ''] = marketAreasOf({ ...londonAddress })

/** Keep hourly prices around the present for an area. */
const importPrices = async (area: string): Promise<string> => {
  const { database, clock } = service()
  const from = Math.floor(clock.at / hourMs) * hourMs - 72 * hourMs
  return withOperator(database, async transaction => {
    const draft = { displayName: area, currencyCode: 'GBP', area, resolutionMinutes: 60, importer: null }
    const { id } = await createMarket(transaction, draft, clock.at)
    const prices = Array.from({ length: 144 }, (_, hour) => {
      const start = from + hour * hourMs
      return { start, end: start + hourMs, value: BigInt(100_000_000 + (hour % 24) * 1_000_000) }
    })
    const put = await putMarketPrices(transaction, id, prices, clock.at)
    if (!put.ok) throw new Error(put.refusal.message)
    return id
  })
}

let references = 0

const begin = async (layout: 'current' | 'earlier', more: object = {}) => {
  const { call } = await connectAccount(service(), layout)
  references += 1
  const token = await tokenFor(call, layout, { location_reference_id: `market-${references}`, postal_address: londonAddress, ...more })
  const flow = visit(service(), token)
  await flow.submit('session_start')
  await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
  return { call, token, flow }
}

const sourcesOf = async (call: Call) => listed(await call('GET', '/locations'))[0]?.['market_sources']
const completed = async (call: Call) => listed(await call('GET', '/events?event_type=connect_session.complete'))

describe('market prices', () => {
  it('that come after the session reach its location, and only then it is told complete', async () => {
    const { call, token, flow } = await begin('current')
    expect((await flow.submit('tariff_structure_select', { options: ['MARKET'] })).route).toBe('surcharge_capture')
    const shown = await flow.submit('surcharge_capture')
    expect(shown).toMatchObject({ route: 'tariffs_summary', data: { rates: { yesterday: [], today: [], tomorrow: [] } } })
    expect((await call('GET', `/connect/token?connect_token=${token}`)).body).toMatchObject({ price_available: false })
    await service().turn()
    expect(await completed(call)).toEqual([])
    const id = await importPrices(whole)
    await service().turn()
    expect(await sourcesOf(call)).toEqual({ import: id, export: id })
    expect(await completed(call)).toMatchObject([{ data: { price_available: true } }])
    await service().turn()
    expect(await completed(call)).toHaveLength(1)
    const rates = (await flow.submit('session_start')).data['rates'] as unknown as Record<string, { tariff: { confidence: number } }[]>
    expect(rates['today']?.length).toBeGreaterThanOrEqual(23)
    expect(rates['today']?.[0]?.tariff.confidence).toBe(1)
  })

  it('that follow the market are offered for energy sold too, and not for own generation', async () => {
    const sold = await begin('current', { tariff_direction: 'EXPORT' })
    expect((await sold.flow.submit('session_start')).body['direction']).toBe('EXPORT')
    await sold.flow.submit('tariff_structure_select', { options: ['MARKET'] })
    const summary = await sold.flow.submit('surcharge_capture', { surcharge: { fixed: 0.01, percentage: 0 } })
    expect(summary).toMatchObject({ route: 'tariffs_summary', body: { direction: 'EXPORT' } })
    const own = await begin('current', { tariff_direction: 'LOCAL' })
    expect((await own.flow.submit('session_start')).data['options']).toEqual(['FIXED', 'TIME_OF_DAY'])
    expect(await own.flow.submit('tariff_structure_select', { options: ['MARKET'] })).toMatchObject({ code: 'option_not_supported' })
  })

  it('of several regions are asked for, before the surcharge or together with it', async () => {
    const chosen = await importPrices(region)
    const now = await begin('current')
    expect(await now.flow.submit('tariff_structure_select', { options: ['MARKET'] })).toMatchObject({
      route: 'region_select',
      data: { provider: { display_name: 'Corner Shop' }, regions: [whole, region] },
    })
    expect((await now.flow.submit('region_select', { region: null })).route).toBe('region_select')
    expect(await now.flow.submit('region_select', { region: 'XX' })).toMatchObject({ code: 'market_region_invalid' })
    expect((await now.flow.submit('region_select', { region })).route).toBe('surcharge_capture')
    await now.flow.submit('surcharge_capture', { surcharge: { fixed: 0, percentage: 5 } })
    expect(await sourcesOf(now.call)).toMatchObject({ import: chosen })

    const { call, flow } = await begin('earlier')
    const page = await flow.submit('tariff_structure_select', { options: ['MARKET'] })
    expect(page).toMatchObject({ route: 'market_surcharge_capture', data: { currency_code: 'GBP', regions: [whole, region] } })
    const surcharge = { fixed: 0, percentage: 0 }
    expect(await flow.submit('market_surcharge_capture', { surcharge })).toMatchObject({ status: 409, code: 'market_region_invalid' })
    expect((await flow.submit('market_surcharge_capture', { surcharge, region })).route).toBe('summary_tou_confirm')
    await flow.act('SAVE')
    expect(await sourcesOf(call)).toMatchObject({ import: chosen })
  })
})

describe('what a person says on the summary', () => {
  it('is noted once for the operator', async () => {
    const { flow } = await begin('current')
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    expect((await flow.submit('rate_fixed_capture', { cost: 0.3 })).actions).toContain('WRONG_TARIFF_REPORT')
    const reported = await flow.act('WRONG_TARIFF_REPORT', 'tariffs_summary')
    expect(reported).toMatchObject({ route: 'tariffs_summary', actions: ['EDIT', 'DISCONNECT', 'CLOSE', 'BACK'] })
    expect((await flow.act('WRONG_TARIFF')).route).toBe('tariffs_summary')
  })
})
