import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../services/platform/config/config.ts'
import { feedNames } from '../../../../services/platform/config/feed-config.ts'
import { ConfigError } from '../../../../services/platform/failure.ts'
import { feedsFor } from '../../../../services/platform/market-feeds/feeds.ts'

describe('the configuration of feeds', () => {
  it('is empty by default', () => {
    expect(readConfig({}).marketFeeds.enabled).toEqual([])
  })

  it('keeps its order and accepts other addresses', () => {
    const { marketFeeds } = readConfig({ WATTLEDGER_MARKET_FEEDS: 'awattar, energy-charts=http://mirror.test/a?b=c' })
    expect(marketFeeds.enabled).toEqual([
      { name: 'awattar', baseUrl: null },
      { name: 'energy-charts', baseUrl: 'http://mirror.test/a?b=c' },
    ])
    expect(feedsFor(marketFeeds, { area: 'DE-LU', currencyCode: 'EUR' }).map(({ name }) => name)).toEqual([
      'awattar',
      'energy-charts',
    ])
    expect(feedsFor(marketFeeds, { area: 'FR', currencyCode: 'EUR' }).map(({ name }) => name)).toEqual([
      'energy-charts',
    ])
    expect(feedsFor(marketFeeds, { area: 'SE3', currencyCode: 'SEK' })).toEqual([])
  })

  it.each([
    ['an unknown feed', { WATTLEDGER_MARKET_FEEDS: 'awattar,nordpool' }, feedNames.join(', ')],
    ['one feed twice', { WATTLEDGER_MARKET_FEEDS: 'awattar,awattar=http://a.test' }, 'WATTLEDGER_MARKET_FEEDS'],
    ['an invalid address', { WATTLEDGER_MARKET_FEEDS: 'awattar=file:///etc/passwd' }, 'WATTLEDGER_MARKET_FEEDS'],
    ['entsoe without its token', { WATTLEDGER_MARKET_FEEDS: 'entsoe' }, 'WATTLEDGER_ENTSOE_TOKEN'],
    ['a region that does not exist', { WATTLEDGER_OCTOPUS_REGION: 'I' }, 'WATTLEDGER_OCTOPUS_REGION'],
  ])('refuses %s', (_, variables, reason) => {
    expect(() => readConfig(variables)).toThrow(ConfigError)
    expect(() => readConfig(variables)).toThrow(reason)
  })
})
