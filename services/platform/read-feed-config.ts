import { ConfigError } from './config-error.ts'
import type { FeedConfig } from './market-feeds/feed-config.ts'

/** The variables of market feeds, read. */
export type FeedVariables = {
  readonly WATTLEDGER_MARKET_FEEDS?: FeedConfig['enabled'] | undefined
  readonly WATTLEDGER_ENTSOE_TOKEN?: string | undefined
  readonly WATTLEDGER_OCTOPUS_PRODUCT: string
  readonly WATTLEDGER_OCTOPUS_VAT: 'included' | 'excluded'
  readonly WATTLEDGER_OCTOPUS_REGION?: string | undefined
}

/** Put the choice of market feeds together. Throws `ConfigError` for a feed without its token. */
export const readFeedConfig = (value: FeedVariables): FeedConfig => {
  const enabled = value.WATTLEDGER_MARKET_FEEDS ?? []
  const entsoeToken = value.WATTLEDGER_ENTSOE_TOKEN ?? null
  if (entsoeToken === null && enabled.some(({ name }) => name === 'entsoe')) {
    throw new ConfigError('WATTLEDGER_MARKET_FEEDS: the feed entsoe needs WATTLEDGER_ENTSOE_TOKEN')
  }
  const octopus = {
    product: value.WATTLEDGER_OCTOPUS_PRODUCT,
    isVatIncluded: value.WATTLEDGER_OCTOPUS_VAT === 'included',
    region: value.WATTLEDGER_OCTOPUS_REGION ?? null,
  }
  return { enabled, entsoeToken, octopus }
}
