import { describe, expect, it } from 'vitest'
import { marketAreasOf } from '../../../services/platform/geocoding/geocode.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { completed, connectFixture, locationOf } from '../../support/connect/connect-fixture.ts'
import { londonAddress } from '../../support/connect/connect-service.ts'
import type { Call } from '../../support/registry/service.ts'

const { begin: beginSession, service } = connectFixture()

const hourMs = 3_600_000
const [whole = '', region = '', ...rest] = marketAreasOf({ ...londonAddress })

/** Store hourly prices around now for a market area. */
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
    const put = await putMarketPrices(transaction, id, prices)
    if (!put.ok) throw new Error(put.refusal.message)
    return id
  })
}

const begin = async (apiVersion: 'current' | 'earlier', more: object = {}) => {
  const session = await beginSession(apiVersion, { route_options: {}, postal_address: londonAddress, ...more })
  await session.flow.submit('session_start')
  await session.flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
  return session
}

const sourcesOf = async (call: Call) => (await locationOf(call))['market_sources']

describe('market prices', () => {
  it('that arrive after the session price its location, and only then the session is reported complete', async () => {
    const { call, token, flow } = await begin('current')
    // Every address of Great Britain belongs to the whole country.
    expect((await flow.submit('tariff_structure_select', { options: ['MARKET'] })).route).toBe('surcharge_capture')
    const shown = await flow.submit('surcharge_capture')
    expect(shown).toMatchObject({
      route: 'tariffs_summary',
      data: { rates: { yesterday: [], today: [], tomorrow: [] } },
    })
    expect((await call('GET', `/connect/token?connect_token=${token}`)).body).toMatchObject({ price_available: false })
    await service().turn()
    expect(await completed(call)).toEqual([])
    const id = await importPrices(whole)
    await service().turn()
    expect(await sourcesOf(call)).toEqual({ import: id, export: id })
    expect(await completed(call)).toMatchObject([{ data: { price_available: true } }])
    await service().turn()
    expect(await completed(call)).toHaveLength(1)
    const rates = (await flow.submit('session_start')).data['rates'] as unknown as Record<
      string,
      { tariff: { confidence: number } }[]
    >
    expect(rates['today']?.length).toBeGreaterThanOrEqual(23)
    expect(rates['today']?.[0]?.tariff.confidence).toBe(1)
  })

  it('are offered for exported energy, and not for own generation', async () => {
    const sold = await begin('current', { tariff_direction: 'EXPORT' })
    expect((await sold.flow.submit('session_start')).body['direction']).toBe('EXPORT')
    await sold.flow.submit('tariff_structure_select', { options: ['MARKET'] })
    const summary = await sold.flow.submit('surcharge_capture', { surcharge: { fixed: 0.01, percentage: 0 } })
    expect(summary).toMatchObject({ route: 'tariffs_summary', body: { direction: 'EXPORT' } })
    const own = await begin('current', { tariff_direction: 'LOCAL' })
    expect((await own.flow.submit('session_start')).data['options']).toEqual(['FIXED', 'TIME_OF_DAY'])
    expect(await own.flow.submit('tariff_structure_select', { options: ['MARKET'] })).toMatchObject({
      code: 'option_not_supported',
    })
  })

  it('of several regions are offered for choice, before or together with the surcharge', async () => {
    const chosen = await importPrices(region)
    const now = await begin('current')
    expect(await now.flow.submit('tariff_structure_select', { options: ['MARKET'] })).toMatchObject({
      route: 'region_select',
      data: { provider: { display_name: 'Corner Shop' }, regions: [whole, region, ...rest] },
    })
    expect((await now.flow.submit('region_select', { region: null })).route).toBe('region_select')
    expect(await now.flow.submit('region_select', { region: 'XX' })).toMatchObject({ code: 'market_region_invalid' })
    expect((await now.flow.submit('region_select', { region })).route).toBe('surcharge_capture')
    await now.flow.submit('surcharge_capture', { surcharge: { fixed: 0, percentage: 5 } })
    expect(await sourcesOf(now.call)).toMatchObject({ import: chosen })

    // A program that posts the surcharge without a region means the whole country.
    const open = await begin('current')
    await open.flow.submit('tariff_structure_select', { options: ['MARKET'] })
    expect((await open.flow.submit('surcharge_capture', { surcharge: { fixed: 0, percentage: 5 } })).route).toBe(
      'tariffs_summary',
    )
    expect(await sourcesOf(open.call)).not.toMatchObject({ import: chosen })

    const { call, flow } = await begin('earlier')
    const page = await flow.submit('tariff_structure_select', { options: ['MARKET'] })
    expect(page).toMatchObject({
      route: 'market_surcharge_capture',
      data: { currency_code: 'GBP', regions: [whole, region, ...rest] },
    })
    const surcharge = { fixed: 0, percentage: 0 }
    expect(await flow.submit('market_surcharge_capture', { surcharge, region: 'XX' })).toMatchObject({
      status: 409,
      code: 'market_region_invalid',
    })
    // A page with the choice posts null until a person has chosen. The service chooses nothing for the person.
    for (const open of [null, ''])
      expect(await flow.submit('market_surcharge_capture', { surcharge, region: open })).toMatchObject({
        status: 409,
        code: 'market_region_invalid',
      })
    expect((await flow.submit('market_surcharge_capture', { surcharge, region })).route).toBe('summary_tou_confirm')
    await flow.act('SAVE')
    expect(await sourcesOf(call)).toMatchObject({ import: chosen })

    // Programs of the earlier API version without a region also mean the whole country.
    const older = await begin('earlier')
    await older.flow.submit('tariff_structure_select', { options: ['MARKET'] })
    expect((await older.flow.submit('market_surcharge_capture', { surcharge })).route).toBe('summary_tou_confirm')
    await older.flow.act('SAVE')
    const { import: id } = (await sourcesOf(older.call)) as unknown as { import: string }
    expect((await older.call('GET', `/markets/${id}`)).body).toMatchObject({ area: whole })
  })
})

describe.each(['current', 'earlier'] as const)(
  'an address that fits several market areas, in the %s API version',
  apiVersion => {
    // Oskarshamn is at the border between SE3 and SE4.
    const address = { address_line1: 'Storgatan 1', city: 'Oskarshamn', post_code: '57230', country_code: 'SE' }
    const areas = ['SE3', 'SE4', 'SE1', 'SE2']
    const surcharge = { fixed: 0, percentage: 0 }

    it('asks for the area even without stored prices, and chooses none', async () => {
      const { call, flow } = await begin(apiVersion, { postal_address: address })
      const page = await flow.submit('tariff_structure_select', { options: ['MARKET'] })
      expect(page).toMatchObject({ data: { regions: areas } })
      if (apiVersion === 'current') {
        expect(page.route).toBe('region_select')
        expect(await flow.submit('surcharge_capture', { surcharge })).toMatchObject({ code: 'route_invalid' })
        await flow.submit('region_select', { region: 'SE4' })
        await flow.submit('surcharge_capture', { surcharge })
      } else {
        expect(await flow.submit('market_surcharge_capture', { surcharge })).toMatchObject({
          code: 'market_region_invalid',
        })
        await flow.submit('market_surcharge_capture', { surcharge, region: 'SE4' })
        await flow.act('SAVE')
      }
      const { import: id } = (await sourcesOf(call)) as unknown as { import: string }
      expect((await call('GET', `/markets/${id}`)).body).toMatchObject({ area: 'SE4', currency_code: 'SEK' })
    })

    it('leaves the location of a fixed tariff without a market source', async () => {
      const { call, flow } = await begin(apiVersion, { postal_address: address })
      await flow.submit('tariff_structure_select', { options: ['FIXED'] })
      await flow.submit('rate_fixed_capture', { cost: 0.3 })
      if (apiVersion === 'earlier') await flow.act('SAVE')
      // The earlier API version leaves out a text member with null.
      // Source: docs/rules/earlier-version.md #null-members.
      expect(await sourcesOf(call)).toEqual(apiVersion === 'current' ? { import: null, export: null } : {})
    })
  },
)

describe('a report on the summary', () => {
  it('is stored once for the operator', async () => {
    const { flow } = await begin('current')
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    expect((await flow.submit('rate_fixed_capture', { cost: 0.3 })).actions).toContain('WRONG_TARIFF_REPORT')
    const reported = await flow.act('WRONG_TARIFF_REPORT', 'tariffs_summary')
    expect(reported).toMatchObject({ route: 'tariffs_summary', actions: ['EDIT', 'DISCONNECT', 'CLOSE', 'BACK'] })
    expect((await flow.act('WRONG_TARIFF')).route).toBe('tariffs_summary')
  })
})
