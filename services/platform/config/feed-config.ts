import { z } from 'zod'
import { jsonFeedNames } from '../../domain/market-feed/json-feeds.ts'
import { ConfigError } from '../failure.ts'

/** Names of the public feeds in the configuration. */
export const feedNames = ['entsoe', ...jsonFeedNames] as const

export type FeedName = (typeof feedNames)[number]

/** A feed that the configuration enables. A null `baseUrl` is the feed's own address. */
export type EnabledFeed = { readonly name: FeedName; readonly baseUrl: string | null }

/** Settings of market feeds. */
export type FeedConfig = {
  /** Enabled feeds in order of preference. Empty: the service fetches no prices. */
  readonly enabled: readonly EnabledFeed[]
  /** Security token of the ENTSO-E transparency platform. */
  readonly entsoeToken: string | null
  readonly octopus: {
    readonly product: string
    readonly isVatIncluded: boolean
    /** Grid region whose prices apply to the area GB. Null: the area GB has no prices. */
    readonly region: string | null
  }
}

const isUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Read `name` or `name=address`. Null if the name is unknown or the address is invalid. */
const parseFeedChoice = (choice: string): EnabledFeed | null => {
  const [written = '', ...rest] = choice.trim().split('=')
  const name = feedNames.find(known => known === written)
  if (name === undefined) return null
  const baseUrl = rest.join('=')
  if (rest.length === 0) return { name, baseUrl: null }
  return isUrl(baseUrl) ? { name, baseUrl } : null
}

/** Read a list of feeds, separated by commas. Null if an entry is invalid or a feed is listed twice. */
const parseFeeds = (text: string): readonly EnabledFeed[] | null => {
  const enabled = text.split(',').map(parseFeedChoice)
  const known = enabled.filter(feed => feed !== null)
  return known.length === enabled.length && new Set(known.map(({ name }) => name)).size === known.length ? known : null
}

/** Environment variables of market feeds. */
export const feedVariables = {
  WATTLEDGER_MARKET_FEEDS: z
    .string()
    .transform(parseFeeds)
    .pipe(
      z.array(z.custom<EnabledFeed>(), {
        error: `must be names or name=URL. The names are ${feedNames.join(', ')}`,
      }),
    )
    .optional()
    .describe(
      `Price feeds in order of preference, separated by commas, as name or name=URL. Default: none. Names: ${feedNames.join(', ')}.`,
    ),
  WATTLEDGER_ENTSOE_TOKEN: z
    .string()
    .min(1)
    .optional()
    .describe('Security token of the ENTSO-E transparency platform, for the feed entsoe.'),
  WATTLEDGER_OCTOPUS_PRODUCT: z
    .string()
    .regex(/^[A-Z0-9-]+$/, 'must be the code of a product')
    .default('AGILE-24-10-01')
    .describe('Product code of the feed octopus-agile.'),
  WATTLEDGER_OCTOPUS_VAT: z
    .enum(['included', 'excluded'])
    .default('included')
    .describe('Prices of octopus-agile with or without VAT: included or excluded.'),
  WATTLEDGER_OCTOPUS_REGION: z
    .enum([...'ABCDEFGHJKLMNP'])
    .optional()
    .describe('Grid region (A to P) whose octopus-agile prices apply to the area GB. Default: none.'),
} as const

type FeedVariables = z.output<z.ZodObject<typeof feedVariables>>

/** Read the settings of market feeds. Throws `ConfigError` if a feed lacks its token. */
export const readFeedConfig = (value: FeedVariables): FeedConfig => {
  const enabled = value.WATTLEDGER_MARKET_FEEDS ?? []
  const entsoeToken = value.WATTLEDGER_ENTSOE_TOKEN ?? null
  if (entsoeToken === null && enabled.some(({ name }) => name === 'entsoe')) {
    throw new ConfigError('WATTLEDGER_MARKET_FEEDS: The feed entsoe needs WATTLEDGER_ENTSOE_TOKEN.')
  }
  const octopus = {
    product: value.WATTLEDGER_OCTOPUS_PRODUCT,
    isVatIncluded: value.WATTLEDGER_OCTOPUS_VAT === 'included',
    region: value.WATTLEDGER_OCTOPUS_REGION ?? null,
  }
  return { enabled, entsoeToken, octopus }
}
