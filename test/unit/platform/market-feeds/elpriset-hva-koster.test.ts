import { describe, expect, it } from 'vitest'
import { FeedFormatError } from '../../../../services/domain/market-feed/feed-price.ts'
import { jsonFeeds } from '../../../../services/platform/market-feeds/json-feeds.ts'
import { listed, settings, start } from './feed-samples.ts'

const { 'elpriset-just-nu': elprisetJustNu, 'hva-koster-strommen': hvaKosterStrommen } = jsonFeeds

const dayMs = 86_400_000

describe('the Swedish and Norwegian price of the day', () => {
  const row = (more: object) => ({
    EUR_per_kWh: 0.07361,
    EXR: 11.210032,
    time_start: '2025-10-02T00:00:00+02:00',
    time_end: '2025-10-02T00:15:00+02:00',
    ...more,
  })

  it('is in the currency of the country', () => {
    const swedish = JSON.stringify([row({ SEK_per_kWh: 0.82517 })])
    expect(listed(elprisetJustNu, swedish, { area: 'SE3', currencyCode: 'SEK' })).toEqual([[0, 15, 825_170_000n]])
    const norwegian = JSON.stringify([row({ NOK_per_kWh: -0.00012 })])
    expect(listed(hvaKosterStrommen, norwegian, { area: 'NO5', currencyCode: 'NOK' })).toEqual([[0, 15, -120_000n]])
    expect(() => listed(hvaKosterStrommen, swedish, { area: 'NO5', currencyCode: 'NOK' })).toThrow(FeedFormatError)
  })

  it('is requested by local day', () => {
    const span = { from: start, to: start + dayMs }
    expect(elprisetJustNu.urlOf({ area: 'SE3', currencyCode: 'SEK' }, span, settings)).toBe(
      'http://feed.test/api/v1/prices/2025/10-02_SE3.json',
    )
    expect(elprisetJustNu.serves({ area: 'SE3', currencyCode: 'EUR' }, settings)).toBe(false)
  })
})
