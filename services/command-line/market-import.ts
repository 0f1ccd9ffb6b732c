import { readFileSync } from 'node:fs'
import { scaledNumber } from '../contract/json/exact-number.ts'
import type { MarketWire } from '../contract/markets/market.ts'
import type { MarketFeedWire } from '../contract/operator/market-feed.ts'
import { writeInstant } from '../domain/instant.ts'
import type { FeedPrice, PriceUnit } from '../domain/market-feed/feed-price.ts'
import { readPriceCsv } from '../domain/market-feed/price-csv.ts'
import { CommandError, type CommandInput, type CommandOutcome, UsageError } from './command.ts'
import { operatorClient } from './operator-client.ts'
import { CallError, type ServiceClient } from './service-client.ts'

const pricesPerRequest = 5_000
const priceScale = 9

type ImportTarget = { readonly id: string; readonly currency: string; readonly name: string }
type Counts = { readonly stored: number; readonly replaced: number; readonly unchanged: number }

/** Find the source: by id any shared one, by area one that feeds can fill. Throws `CommandError`. */
const findTarget = async (
  client: ServiceClient,
  nameOrId: string,
  findFeed: (feeds: readonly MarketFeedWire[], nameOrId: string) => MarketFeedWire,
): Promise<ImportTarget> => {
  if (!nameOrId.startsWith('mrs_')) {
    const { data } = await client.ask<{ readonly data: readonly MarketFeedWire[] }>('GET', '/operator/market-feeds')
    const { id, currency_code: currency, display_name: name } = findFeed(data, nameOrId)
    return { id, currency, name }
  }
  try {
    const market = await client.ask<MarketWire>('GET', `/markets/${encodeURIComponent(nameOrId)}`)
    return { id: market.id, currency: market.currency_code, name: market.display_name }
  } catch (error) {
    if (error instanceof CallError && error.status === 404)
      throw new CommandError(`no shared source has the id ${nameOrId}`)
    throw error
  }
}

/** Small units by the currencies that have them. */
const currenciesOfSmallUnits: Readonly<Record<string, readonly string[]>> = {
  ct: ['EUR', 'USD', 'AUD', 'CAD'],
  c: ['EUR', 'USD', 'AUD', 'CAD'],
  p: ['GBP'],
  øre: ['DKK', 'NOK'],
  öre: ['SEK'],
}

/** Read a unit such as EUR/MWh for a source in a currency. Throws `UsageError` for one that is none, or of another currency. */
export const readUnit = (text: string | undefined, currency: string): PriceUnit => {
  if (text === undefined) return 'PER_KWH'
  const [money = '', energy = ''] = text.split('/')
  const unitExamples = `such as ${currency}/MWh or ${currency}/kWh`
  if (!/^[mk]wh$/i.test(energy)) throw new UsageError(`--unit is one ${unitExamples}, not "${text}"`)
  const isPerMwh = energy.toLowerCase() === 'mwh'
  if (money.toUpperCase() === currency) return isPerMwh ? 'PER_MWH' : 'PER_KWH'
  if (currenciesOfSmallUnits[money.toLowerCase()]?.includes(currency) === true && !isPerMwh) return 'HUNDREDTH_PER_KWH'
  throw new UsageError(`--unit is one of the source's currency, ${unitExamples}, not "${text}"`)
}

const readFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const readPrices = (file: string, unit: PriceUnit): readonly FeedPrice[] => {
  const read = readPriceCsv(readFile(file), unit)
  if (!read.ok) {
    const faults = read.faults.map(({ line, message }) => `  line ${line}: ${message}`)
    throw new CommandError(`${file} cannot be used, and nothing was stored:\n${faults.join('\n')}`)
  }
  if (read.prices.length === 0) throw new CommandError(`${file} has no prices`)
  return read.prices
}

const toWire = ({ start, end, value }: FeedPrice) => ({
  start_time: writeInstant(start),
  end_time: writeInstant(end),
  value: scaledNumber(value, priceScale),
})

/**
 * Import a CSV file into a shared source of the running service, in the order of time, some thousand prices a request. What a stop in
 * between leaves out comes with a repeat, which changes nothing else. Throws `UsageError`, `CommandError` and `CallError`.
 */
export const importPrices = async (
  input: CommandInput,
  findFeed: Parameters<typeof findTarget>[2],
): Promise<CommandOutcome> => {
  const { operands, options, onProgress } = input
  const client = operatorClient(input)
  const { id, currency, name } = await findTarget(client, options['market'] ?? '', findFeed)
  const prices = readPrices(operands[0] ?? '', readUnit(options['unit'], currency))
  let [stored, replaced, unchanged] = [0, 0, 0]
  for (let from = 0; from < prices.length; from += pricesPerRequest) {
    const batch = prices.slice(from, from + pricesPerRequest)
    const counts = await client.ask<Counts>('PUT', `/markets/${id}/prices`, batch.map(toWire))
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
