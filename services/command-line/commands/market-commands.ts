import { type MarketFeedFetchWire, type MarketFeedWire, maxFetchMs } from '../../contract/operator/market-feed.ts'
import { readInstant, writeInstant } from '../../domain/instant.ts'
import { type Command, CommandError, type CommandInput, type CommandOutcome, success, UsageError } from '../command.ts'
import { importPrices } from '../market-import.ts'
import { operatorClient, operatorOptions } from '../operator-client.ts'
import type { ServiceClient } from '../service-client.ts'
import { table } from '../table.ts'

const path = '/operator/market-feeds'

const readFeeds = async (client: ServiceClient): Promise<readonly MarketFeedWire[]> =>
  (await client.ask<{ readonly data: readonly MarketFeedWire[] }>('GET', path)).data

const shortTime = (text: string | null): string => (text === null ? '' : text.replace(/:\d\d(?:\.\d+)?Z$/, 'Z'))

const statusText = ({ feeds, failing_since: since, error, time_attempted: attempted }: MarketFeedWire): string => {
  if (since !== null) return `failing since ${shortTime(since)}: ${error ?? ''}`
  if (attempted === null) return feeds.length === 0 ? 'no feed is chosen' : 'not fetched yet'
  return 'well'
}

const listCommand: Command = {
  name: 'markets list',
  operands: [],
  summary: 'List shared market sources and how fetching their prices goes.',
  details:
    'Asks the running service. Shows the sources that locations use or that were fetched; --all shows every one. Feeds are chosen with\nWATTLEDGER_MARKET_FEEDS; without it nothing is fetched.',
  options: { all: { summary: 'Sources that nobody uses, too.' }, ...operatorOptions },
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
    const columnNames = ['id', 'area', 'currency', 'use', 'feeds', 'known until', 'last success', 'next fetch', 'state']
    return success(
      table(columnNames, rows, `No location uses a shared source; --all shows all ${feeds.length}.`),
      shownFeeds,
    )
  },
}

/** Find what a word names: an id, or an area of one currency. Throws `CommandError`. */
const findFeed = (feeds: readonly MarketFeedWire[], nameOrId: string): MarketFeedWire => {
  const [area, currency] = nameOrId.toUpperCase().split('/')
  const found = feeds.filter(
    feed => feed.id === nameOrId || (feed.area === area && (currency === undefined || feed.currency_code === currency)),
  )
  const [feed] = found
  if (feed === undefined)
    throw new CommandError(`no shared source is called "${nameOrId}"; "npx wattledger markets list --all" shows all`)
  if (found.length > 1) {
    const feedNames = found.map(one => `${one.area}/${one.currency_code}`).join(' or ')
    throw new CommandError(`"${nameOrId}" is published in several currencies: write ${feedNames}`)
  }
  return feed
}

const readInstantOption = ({ options }: CommandInput, name: string): number | null => {
  const text = options[name]
  if (text === undefined) return null
  const read = readInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text, name)
  if (!read.ok)
    throw new UsageError(
      `--${name} is a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00+01:00, not "${text}"`,
    )
  return read.value.at
}

/** The bodies of the requests that a fetch takes: one for what is due, or one for each part of a span. */
const requestBodies = (input: CommandInput): readonly object[] => {
  const [from, to] = [readInstantOption(input, 'from'), readInstantOption(input, 'to') ?? input.at]
  if (from === null) {
    if (input.options['to'] !== undefined) throw new UsageError('--to goes with --from')
    return [{}]
  }
  if (to <= from) throw new UsageError('--to must be after --from')
  return Array.from({ length: Math.ceil((to - from) / maxFetchMs) }, (_, partIndex) => ({
    start_time: writeInstant(from + partIndex * maxFetchMs),
    end_time: writeInstant(Math.min(to, from + (partIndex + 1) * maxFetchMs)),
  }))
}

const fetchText = ({ feed, stored, replaced, unchanged, error }: MarketFeedFetchWire): string => {
  const counts = `${stored} stored, ${replaced} replaced, ${unchanged} unchanged`
  return `${feed === null ? 'no prices' : `${feed}: ${counts}`}${error === null ? '' : ` — ${error}`}`
}

const fetchAll = async (
  client: ServiceClient,
  feeds: readonly MarketFeedWire[],
  input: CommandInput,
): Promise<CommandOutcome> => {
  const results: MarketFeedFetchWire[] = []
  for (const { id, area, currency_code: currency } of feeds) {
    for (const body of requestBodies(input)) {
      const result = await client.ask<MarketFeedFetchWire>('POST', `${path}/${id}/fetch`, body)
      results.push(result)
      const intervalText = 'start_time' in body ? ` from ${String(body.start_time).slice(0, 10)}` : ''
      input.onProgress(`  ${area}/${currency}${intervalText}  ${fetchText(result)}`)
    }
  }
  const stored = results.reduce((sum, result) => sum + result.stored + result.replaced, 0)
  const ok = results.every(({ error }) => error === null)
  return { text: `${stored} prices were new.`, json: { stored, data: results }, ok }
}

const fetchCommand: Command = {
  name: 'markets fetch',
  operands: ['MARKET…'],
  summary: 'Fetch the prices of shared market sources now.',
  details:
    'Names ids or areas (DE-LU, SE3/SEK); without any it takes the sources that locations use. Fetches what is due, or with --from and --to a\nspan however old. The feeds are those that the service was started with.',
  options: {
    from: { value: 'TIME', summary: 'Start of a span: 2026-01-31, or 2026-01-31T12:00:00+01:00.' },
    to: { value: 'TIME', summary: 'End of the span; now when absent.' },
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
      throw new CommandError('no location uses a source that a chosen feed publishes; name the sources to fetch')
    return fetchAll(client, chosen, input)
  },
}

const importCommand: Command = {
  name: 'markets import',
  operands: ['FILE'],
  summary: 'Import market prices from a CSV file into a shared source.',
  details:
    'The first line names the columns start_time, value and perhaps end_time, in any order; times are RFC 3339 with an offset. Without ends\neach price lasts to the next. Where prices are stored already the new ones hold, and everything that was priced from them is priced\nagain. Nothing is stored of a file with a fault.',
  options: {
    market: { value: 'MARKET', summary: 'The source: its id, or its area (DE-LU, SE3/SEK).', isRequired: true },
    unit: { value: 'UNIT', summary: 'Such as EUR/MWh, EUR/kWh, ct/kWh, p/kWh; the currency per kWh when absent.' },
    ...operatorOptions,
  },
  run: input => importPrices(input, findFeed),
}

export const marketCommands: readonly Command[] = [listCommand, fetchCommand, importCommand]
