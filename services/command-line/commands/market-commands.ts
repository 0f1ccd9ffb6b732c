import { readFileSync } from 'node:fs'
import { scaledNumber } from '../../contract/json/exact-number.ts'
import { marketRetrieve } from '../../contract/markets/market.ts'
import { marketPricePut } from '../../contract/markets/market-price.ts'
import {
  type MarketFeedWire,
  marketFeedFetch,
  marketFeedList,
  maxFetchMs,
} from '../../contract/operator/market-feed.ts'
import { readInstant, writeInstant } from '../../domain/instant.ts'
import type { FeedPrice, PriceUnit } from '../../domain/market-feed/feed-price.ts'
import { readPriceCsv } from '../../domain/market-feed/price-csv.ts'
import { type Command, CommandError, type CommandInput, type CommandOutcome, success, UsageError } from '../command.ts'
import { operatorClient, operatorOptions } from '../operator-client.ts'
import { CallError, type Received, type ServiceClient } from '../service-client.ts'
import { table } from '../table.ts'

const readFeeds = async (client: ServiceClient): Promise<readonly MarketFeedWire[]> =>
  (await client.ask(marketFeedList, {})).data

const shortTime = (text: string | null): string => (text === null ? '' : text.replace(/:\d\d(?:\.\d+)?Z$/, 'Z'))

const statusText = ({ feeds, failing_since: since, error, time_attempted: attempted }: MarketFeedWire): string => {
  if (since !== null) return `failing since ${shortTime(since)}: ${error ?? ''}`
  if (attempted === null) return feeds.length === 0 ? 'no feed enabled' : 'not fetched yet'
  return 'ok'
}

const listCommand: Command = {
  name: 'markets list',
  operands: [],
  summary: 'List shared market sources and the status of their feeds.',
  details: [
    'Requires a running service. Lists sources that locations use or that were fetched; --all lists all sources.',
    'WATTLEDGER_MARKET_FEEDS enables feeds. Without it the service fetches no prices.',
  ],
  options: { all: { summary: 'Include unused sources.' }, ...operatorOptions },
  run: async input => {
    const feeds = await readFeeds(operatorClient(input))
    const isAllRequested = input.options['all'] !== undefined
    const shownFeeds = feeds.filter(feed => isAllRequested || feed.is_used || feed.time_attempted !== null)
    const rows = shownFeeds.map(feed => [
      feed.id,
      feed.area,
      feed.currency_code,
      feed.is_used ? 'used' : '',
      feed.feeds.join(', '),
      shortTime(feed.known_until),
      shortTime(feed.time_succeeded),
      shortTime(feed.time_next),
      statusText(feed),
    ])
    const columnNames = [
      'id',
      'area',
      'currency',
      'use',
      'feeds',
      'known until',
      'last success',
      'next fetch',
      'status',
    ]
    return success(
      table(columnNames, rows, `No location uses a shared source. List all ${feeds.length} sources with --all.`),
      shownFeeds,
    )
  },
}

/** Find a source by its id, or by its area and currency. Throws `CommandError`. */
const findFeed = (feeds: readonly MarketFeedWire[], nameOrId: string): MarketFeedWire => {
  const [area, currency] = nameOrId.toUpperCase().split('/')
  const found = feeds.filter(
    feed => feed.id === nameOrId || (feed.area === area && (currency === undefined || feed.currency_code === currency)),
  )
  const [feed] = found
  if (feed === undefined)
    throw new CommandError(`There is no shared source "${nameOrId}". Run "npx wattledger markets list --all".`)
  if (found.length > 1) {
    const feedNames = found.map(one => `${one.area}/${one.currency_code}`).join(' or ')
    throw new CommandError(`"${nameOrId}" has prices in several currencies. Use ${feedNames}.`)
  }
  return feed
}

const readInstantOption = ({ options }: CommandInput, name: string): number | null => {
  const text = options[name]
  if (text === undefined) return null
  const read = readInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text, name)
  if (!read.ok)
    throw new UsageError(
      `--${name} must be a day such as 2026-01-31 or a time such as 2026-01-31T12:00:00+01:00, not "${text}".`,
    )
  return read.value.at
}

/** Return the request bodies of a fetch: one for the due prices, or one for each part of an interval. */
const requestBodies = (input: CommandInput): readonly object[] => {
  const [from, to] = [readInstantOption(input, 'from'), readInstantOption(input, 'to') ?? input.at]
  if (from === null) {
    if (input.options['to'] !== undefined) throw new UsageError('--to requires --from.')
    return [{}]
  }
  if (to <= from) throw new UsageError('--to must be after --from.')
  return Array.from({ length: Math.ceil((to - from) / maxFetchMs) }, (_, partIndex) => ({
    start_time: writeInstant(from + partIndex * maxFetchMs),
    end_time: writeInstant(Math.min(to, from + (partIndex + 1) * maxFetchMs)),
  }))
}

const fetchText = ({ feed, stored, replaced, unchanged, error }: Received<typeof marketFeedFetch>): string => {
  const counts = `${stored} stored, ${replaced} replaced, ${unchanged} unchanged`
  return `${feed === null ? 'no prices' : `${feed}: ${counts}`}${error === null ? '' : `; ${error}`}`
}

const fetchAll = async (
  client: ServiceClient,
  feeds: readonly MarketFeedWire[],
  input: CommandInput,
): Promise<CommandOutcome> => {
  const results: Received<typeof marketFeedFetch>[] = []
  for (const { id, area, currency_code: currency } of feeds) {
    for (const body of requestBodies(input)) {
      const result = await client.ask(marketFeedFetch, { id }, body)
      results.push(result)
      const intervalText = 'start_time' in body ? ` from ${String(body.start_time).slice(0, 10)}` : ''
      input.onProgress(`  ${area}/${currency}${intervalText}  ${fetchText(result)}`)
    }
  }
  const stored = results.reduce((sum, result) => sum + result.stored + result.replaced, 0)
  const ok = results.every(({ error }) => error === null)
  return { text: `${stored} new or changed prices.`, json: { stored, data: results }, ok }
}

const fetchCommand: Command = {
  name: 'markets fetch',
  operands: ['MARKET…'],
  summary: 'Fetch the prices of shared market sources now.',
  details: [
    'MARKET is an id or an area (DE-LU, SE3/SEK). Default: the sources that locations use.',
    'Fetches the due prices, or the prices from --from to --to. The feeds are those of the running service.',
  ],
  options: {
    from: { value: 'TIME', summary: 'Start of the interval: 2026-01-31, or 2026-01-31T12:00:00+01:00.' },
    to: { value: 'TIME', summary: 'End of the interval. Default: now.' },
    ...operatorOptions,
  },
  run: async input => {
    const client = operatorClient(input)
    const feeds = await readFeeds(client)
    const named = input.operands.map(nameOrId => findFeed(feeds, nameOrId))
    const chosen =
      named.length > 0
        ? named
        : feeds.filter(({ is_used: isUsed, feeds: publishers }) => isUsed && publishers.length > 0)
    if (chosen.length === 0)
      throw new CommandError('No location uses a source of an enabled feed. Add the ids or areas to fetch.')
    return fetchAll(client, chosen, input)
  },
}

const pricesPerRequest = 5_000
const priceScale = 9

type ImportTarget = { readonly id: string; readonly currency: string; readonly name: string }
/** Find a shared source by id, or by area among the sources of feeds. Throws `CommandError`. */
const findTarget = async (client: ServiceClient, nameOrId: string): Promise<ImportTarget> => {
  if (!nameOrId.startsWith('mrs_')) {
    const { id, currency_code: currency, display_name: name } = findFeed(await readFeeds(client), nameOrId)
    return { id, currency, name }
  }
  try {
    const market = await client.ask(marketRetrieve, { id: nameOrId })
    return { id: market.id, currency: market.currency_code, name: market.display_name }
  } catch (error) {
    if (error instanceof CallError && error.status === 404)
      throw new CommandError(`There is no shared source with the id ${nameOrId}.`)
    throw error
  }
}

/** Currencies of each hundredth unit. */
const currenciesOfSmallUnits: Readonly<Record<string, readonly string[]>> = {
  ct: ['EUR', 'USD', 'AUD', 'CAD'],
  c: ['EUR', 'USD', 'AUD', 'CAD'],
  p: ['GBP'],
  øre: ['DKK', 'NOK'],
  öre: ['SEK'],
}

/** Read a unit such as EUR/MWh. Throws `UsageError` for an unknown unit and for another currency. */
const readUnit = (text: string | undefined, currency: string): PriceUnit => {
  if (text === undefined) return 'PER_KWH'
  const [money = '', energy = ''] = text.split('/')
  const unitExamples = `such as ${currency}/MWh or ${currency}/kWh`
  if (!/^[mk]wh$/i.test(energy)) throw new UsageError(`--unit must be a unit ${unitExamples}, not "${text}".`)
  const isPerMwh = energy.toLowerCase() === 'mwh'
  if (money.toUpperCase() === currency) return isPerMwh ? 'PER_MWH' : 'PER_KWH'
  if (currenciesOfSmallUnits[money.toLowerCase()]?.includes(currency) === true && !isPerMwh) return 'HUNDREDTH_PER_KWH'
  throw new UsageError(`--unit must use the currency of the source, ${unitExamples}, not "${text}".`)
}

const readFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}.`)
  }
}

const readPrices = (file: string, unit: PriceUnit): readonly FeedPrice[] => {
  const read = readPriceCsv(readFile(file), unit)
  if (!read.ok) {
    const faults = read.faults.map(({ line, message }) => `  line ${line}: ${message}`)
    throw new CommandError([`${file} has errors. No price was stored.`, ...faults].join('\n'))
  }
  if (read.prices.length === 0) throw new CommandError(`${file} contains no prices.`)
  return read.prices
}

const toWire = ({ start, end, value }: FeedPrice) => ({
  start_time: writeInstant(start),
  end_time: writeInstant(end),
  value: scaledNumber(value, priceScale),
})

/**
 * Import the prices of a CSV file into a shared source, in the order of time, up to 5,000 prices per request.
 * After an interruption the import can be repeated: stored prices do not change.
 * Throws `UsageError`, `CommandError` and `CallError`.
 */
const importPrices = async (input: CommandInput): Promise<CommandOutcome> => {
  const { operands, options, onProgress } = input
  const client = operatorClient(input)
  const { id, currency, name } = await findTarget(client, options['market'] ?? '')
  const prices = readPrices(operands[0] ?? '', readUnit(options['unit'], currency))
  let [stored, replaced, unchanged] = [0, 0, 0]
  for (let from = 0; from < prices.length; from += pricesPerRequest) {
    const batch = prices.slice(from, from + pricesPerRequest)
    const counts = await client.ask(marketPricePut, { id }, batch.map(toWire))
    stored += counts.stored
    replaced += counts.replaced
    unchanged += counts.unchanged
    if (prices.length > pricesPerRequest) onProgress(`  ${from + batch.length} of ${prices.length} prices`)
  }
  const intervalText = `${writeInstant(prices[0]?.start ?? 0)} to ${writeInstant(prices.at(-1)?.end ?? 0)}`
  return {
    text: `${name} (${id}), ${intervalText}: ${stored} stored, ${replaced} replaced, ${unchanged} unchanged.`,
    json: { id, prices: prices.length, stored, replaced, unchanged },
    ok: true,
  }
}

const importCommand: Command = {
  name: 'markets import',
  operands: ['FILE'],
  summary: 'Import market prices from a CSV file into a shared source.',
  details: [
    'The first line names the columns start_time, value and optionally end_time, in any order.',
    'Times are RFC 3339 with a UTC offset. Without end_time each price is valid until the next.',
    'New prices replace stored prices, and the affected costs are recalculated.',
    'If the file contains an error, no price is stored.',
  ],
  options: {
    market: { value: 'MARKET', summary: 'Id or area (DE-LU, SE3/SEK) of the source.', isRequired: true },
    unit: {
      value: 'UNIT',
      summary: 'Unit, such as EUR/MWh, EUR/kWh, ct/kWh or p/kWh. Default: currency of the source per kWh.',
    },
    ...operatorOptions,
  },
  run: importPrices,
}

export const marketCommands: readonly Command[] = [listCommand, fetchCommand, importCommand]
