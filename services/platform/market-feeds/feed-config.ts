/** The public feeds that can be fetched from, by the names that configuration and people use. */
export const feedNames = [
  'entsoe',
  'energy-charts',
  'energi-data-service',
  'elpriset-just-nu',
  'hva-koster-strommen',
  'awattar',
  'octopus-agile',
] as const

export type FeedName = (typeof feedNames)[number]

/** A feed that configuration has turned on; `baseUrl` null is the feed's own. */
export type EnabledFeed = { readonly name: FeedName; readonly baseUrl: string | null }

/** What configuration says of feeds. */
export type FeedConfig = {
  /** In order of preference; none: nothing is fetched. */
  readonly enabled: readonly EnabledFeed[]
  /** Security token of the ENTSO-E transparency platform. */
  readonly entsoeToken: string | null
  readonly octopus: {
    readonly product: string
    readonly isVatIncluded: boolean
    /** The grid region whose prices stand for all of Great Britain; null: none does. */
    readonly region: string | null
  }
}

const isUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Read `name` or `name=address`. Null for a name that is none, or an address that is none. */
const parseFeedChoice = (word: string): EnabledFeed | null => {
  const [written = '', ...rest] = word.trim().split('=')
  const name = feedNames.find(known => known === written)
  if (name === undefined) return null
  const baseUrl = rest.join('=')
  if (rest.length === 0) return { name, baseUrl: null }
  return isUrl(baseUrl) ? { name, baseUrl } : null
}

/** Read a list of feeds, parted by commas, each once. Null where it cannot be read. */
export const parseFeeds = (text: string): readonly EnabledFeed[] | null => {
  const enabled = text.split(',').map(parseFeedChoice)
  const known = enabled.filter(feed => feed !== null)
  return known.length === enabled.length && new Set(known.map(({ name }) => name)).size === known.length ? known : null
}
