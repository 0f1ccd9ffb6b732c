import { beforeAll, describe, expect, it } from 'vitest'
import { readProviderFile } from '../../../services/contract/registry/provider-file.ts'
import { putLibraryTariffs } from '../../../services/platform/postgres/pricing/library-tariffs.ts'
import { putProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { bundledSuppliers, seedSuppliers } from '../../../services/platform/provider-catalogue/suppliers.ts'
import { connectFixture, tariffsOf } from '../../support/connect/connect-fixture.ts'
import { londonAddress } from '../../support/connect/connect-service.ts'

const { begin, service } = connectFixture()
const libraryId = `prv_${'1'.repeat(24)}`

const library = {
  providers: [
    {
      display_name: 'Shelf Energy',
      countries: ['GB'],
      library_tariffs: [
        {
          name: 'Standard',
          description: 'One price',
          currency_code: 'GBP',
          schedule: [
            {
              days_and_hours: [
                { hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2712 }] }] },
              ],
            },
          ],
        },
      ],
    },
  ],
}

beforeAll(async () => {
  const { operator } = service().database
  const base = { logoUrl: null, countries: ['GB'], addressTypes: [], direct: null }
  await putProviders(
    operator,
    [
      { ...base, id: libraryId, displayName: 'Shelf Energy' },
      { ...base, id: `prv_${'c'.repeat(24)}`, displayName: 'Offices Only', addressTypes: ['COMMERCIAL'] },
    ],
    0,
  )
  const file = readProviderFile(new TextEncoder().encode(JSON.stringify(library)))
  if (!file.ok) throw new Error(file.refusal.message)
  const [tariff] = file.value.providers[0]?.library_tariffs ?? []
  if (tariff === undefined) throw new Error('the file holds a tariff')
  const { direction, type, marketRates, schedule } = tariff.terms
  const savedTariff = {
    id: `trt_${'1'.repeat(24)}`,
    providerId: libraryId,
    name: tariff.name,
    description: tariff.description ?? null,
  }
  const shelf = {
    ...savedTariff,
    countries: [],
    addressTypes: [],
    currencyCode: 'GBP',
    direction,
    type,
    marketRates,
    schedule,
  }
  const shop = { ...shelf, id: `trt_${'2'.repeat(24)}`, name: 'Shop', addressTypes: ['COMMERCIAL'] as const }
  const elsewhere = { ...shelf, id: `trt_${'3'.repeat(24)}`, providerId: `prv_${'c'.repeat(24)}` }
  const inEuro = { ...shelf, id: `trt_${'4'.repeat(24)}`, name: 'Euro', currencyCode: 'EUR' }
  const sold = { ...shelf, id: `trt_${'5'.repeat(24)}`, name: 'Sold', direction: 'EXPORT' as const }
  await putLibraryTariffs(operator, [shelf, shop, elsewhere, inEuro, sold], 0)
})

describe('the catalogue', () => {
  it('offers library tariffs of a provider, and a way to skip them', async () => {
    const { call, flow } = await begin('current', {
      route_options: {},
      postal_address: londonAddress,
      postal_address_type: 'RESIDENTIAL',
    })
    const page = await flow.submit('provider_select', { provider: { id: libraryId } })
    expect(page).toMatchObject({
      route: 'tariff_select',
      actions: ['TARIFF_MISSING', 'ADDRESS_CHANGE', 'BACK', 'CLOSE'],
      data: { provider: { display_name: 'Shelf Energy' } },
    })
    expect(page.data['tariffs']).toEqual([{ id: `trt_${'1'.repeat(24)}`, name: 'Standard', description: 'One price' }])
    for (const other of ['2', '3', '4', '5'])
      expect(await flow.submit('tariff_select', { tariff: { id: `trt_${other.repeat(24)}` } })).toMatchObject({
        code: 'tariff_id_invalid',
        body: { context: 'connect.tariff_select' },
      })
    expect((await flow.act('TARIFF_MISSING')).route).toBe('tariff_structure_select')
    const [tariff] = page.data['tariffs'] as unknown as { id: string }[]
    expect((await flow.submit('tariff_select', { tariff: { id: tariff?.id } })).route).toBe('tariffs_summary')
    expect(await tariffsOf(call)).toMatchObject([
      { connection_type: 'LIBRARY', is_linked: true, display_name: 'Standard' },
    ])
  })

  it('offers tariffs for the kind of address and the kind of tariff', async () => {
    const offered = async (more: object) => {
      const { flow } = await begin('current', { postal_address: londonAddress, ...more })
      const { data } = await flow.submit('provider_select', { provider: { id: libraryId } })
      return (data['tariffs'] as unknown as { name: string }[]).map(({ name }) => name)
    }
    expect(await offered({})).toEqual(['Shop', 'Standard'])
    expect(await offered({ postal_address_type: 'COMMERCIAL' })).toEqual(['Shop', 'Standard'])
    expect(await offered({ postal_address_type: 'RESIDENTIAL' })).toEqual(['Standard'])
    expect(await offered({ tariff_direction: 'EXPORT' })).toEqual(['Sold'])
  })

  it('shows the providers of a country and a type of address', async () => {
    const namesFor = async (type: string) => {
      const { flow } = await begin('current', { postal_address: londonAddress, postal_address_type: type })
      const { data } = await flow.submit('session_start')
      return (data['providers'] as unknown as { display_name: string }[]).map(one => one.display_name)
    }
    expect(await namesFor('RESIDENTIAL')).not.toContain('Offices Only')
    expect(await namesFor('COMMERCIAL')).toContain('Offices Only')
    expect(await namesFor('COMMERCIAL')).toContain('Ecotricity')
  })

  it("contains the well-known suppliers of its countries, and keeps the operator's changes", async () => {
    const countries = [
      'GB',
      'DE',
      'FR',
      'NL',
      'BE',
      'AT',
      'SE',
      'NO',
      'DK',
      'FI',
      'ES',
      'IT',
      'IE',
      'PL',
      'US',
      'AU',
      'CA',
    ]
    const shipped = bundledSuppliers()
    for (const country of countries)
      expect(shipped.filter(one => one.countries.includes(country)).length, country).toBeGreaterThan(2)
    expect(shipped.every(({ logoUrl, direct }) => logoUrl === null && direct === null)).toBe(true)
    const [one] = shipped.filter(({ displayName }) => displayName === 'Ecotricity')
    if (one === undefined) throw new Error('Ecotricity is a supplier of GB')
    const { database, clock } = service()
    await putProviders(database.operator, [{ ...one, displayName: 'Ecotricity Ltd' }], clock.at)
    expect(await seedSuppliers(database, clock.at)).toBe(0)
    const { flow } = await begin('current', { postal_address: londonAddress })
    const { data } = await flow.submit('session_start')
    const names = (data['providers'] as unknown as { display_name: string }[]).map(({ display_name: name }) => name)
    expect(names).toContain('Ecotricity Ltd')
    expect(names).not.toContain('Vattenfall Europe')
    await putProviders(database.operator, [one], clock.at)
  })
})
