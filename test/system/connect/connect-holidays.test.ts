import { beforeAll, describe, expect, it } from 'vitest'
import { readTariffTerms } from '../../../services/contract/tariffs/read-tariff-terms.ts'
import { putLibraryTariffs } from '../../../services/platform/postgres/pricing/library-tariffs.ts'
import { putProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { connectFixture } from '../../support/connect/connect-fixture.ts'
import { londonAddress } from '../../support/connect/connect-service.ts'
import { days, entry, terms, wholeDay } from '../../support/tariffs/tariff-terms.ts'

const { begin, service } = connectFixture()
const providerId = `prv_${'7'.repeat(24)}`
const tariffIds = { COMMODITY: `trt_${'7'.repeat(24)}`, NON_COMMODITY: `trt_${'8'.repeat(24)}` } as const

beforeAll(async () => {
  const { database, clock } = service()
  clock.at = Date.UTC(2026, 11, 25, 12)
  const provider = { id: providerId, displayName: 'Holiday Energy', logoUrl: null, countries: ['GB'] }
  await putProviders(database.operator, [{ ...provider, addressTypes: [], direct: null }], 0)
  const blocks = [days(['All'], wholeDay([{ fixed: '0.3' }])), days(['Holidays'], wholeDay([{ fixed: '0.1' }]))]
  const read = readTariffTerms(terms([entry(blocks)]))
  if (!read.ok) throw new Error(read.refusal.message)
  const { schedule } = read.value
  const tariffs = (['COMMODITY', 'NON_COMMODITY'] as const).map(type => ({
    id: tariffIds[type],
    providerId,
    name: type,
    description: null,
    countries: [],
    addressTypes: [],
    currencyCode: 'GBP',
    direction: 'IMPORT' as const,
    type,
    marketRates: false,
    schedule,
  }))
  await putLibraryTariffs(database.operator, tariffs, 0)
})

type Rates = Readonly<Record<string, readonly { readonly tariff: { readonly cost: number } }[]>>

describe('the summary of a tariff with prices of holidays', () => {
  // 25 December is a holiday in England. 24 December is none.
  it.each([
    ['earlier', 'COMMODITY', 'before the location exists'],
    ['current', 'COMMODITY', 'of the saved tariff'],
    ['current', 'NON_COMMODITY', 'of the saved fee'],
  ] as const)('has them in the %s version for %s, %s', async (apiVersion, type, _) => {
    const address = { postal_address: londonAddress }
    const { flow } = await begin(apiVersion, { ...address, ...(type === 'COMMODITY' ? {} : { tariff_type: type }) })
    await flow.submit('provider_select', { provider: { id: providerId } })
    const { data } = await flow.submit('tariff_select', { tariff: { id: tariffIds[type] } })
    const { yesterday, today } = data['rates'] as unknown as Rates
    expect([yesterday, today].map(rates => rates?.map(({ tariff }) => tariff.cost))).toEqual([[0.3], [0.1]])
  })
})
