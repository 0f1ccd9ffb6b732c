import { priceRetrieve } from '../../contract/prices/price.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { type Command, success, UsageError } from '../command.ts'
import { type ChartValue, columnChart, instantText } from '../price-chart.ts'
import { logIn, type Received } from '../service-client.ts'
import { columns } from '../table.ts'
import { readAnyTarget, targetOptions } from '../target.ts'

const maxHours = 90 * 24

type Prices = Received<typeof priceRetrieve>

const readHours = (text: string): number => {
  const hours = Number(text)
  if (!Number.isInteger(hours) || hours < 1 || hours > maxHours) {
    throw new UsageError(`--hours must be a whole number from 1 to ${maxHours}, not "${text}".`)
  }
  return hours
}

/** Return the prices as values of a chart. Forecasts are faint. */
export const chartValues = ({ data }: Pick<Prices, 'data'>): readonly ChartValue[] =>
  data.flatMap(({ valid_from: from, valid_to: to, price }) =>
    price === undefined
      ? []
      : [{ start: Date.parse(from), end: Date.parse(to), value: price.value, isFaint: price.confidence < 1 }],
  )

/** Return the lowest and the highest price, each with its first interval, and the mean over time. */
const priceFacts = (values: readonly ChartValue[], zoneName: string): string => {
  const zone = timeZone(zoneName)
  const [first] = values
  if (first === undefined || zone === null) return ''
  const lowest = values.reduce((bestSoFar, one) => (one.value < bestSoFar.value ? one : bestSoFar), first)
  const highest = values.reduce((bestSoFar, one) => (one.value > bestSoFar.value ? one : bestSoFar), first)
  const totalMs = values.reduce((sum, { start, end }) => sum + end - start, 0)
  const mean = values.reduce((sum, { start, end, value }) => sum + value * (end - start), 0) / totalMs
  const intervalText = ({ start, end }: ChartValue): string =>
    `${instantText(start, zone)} to ${instantText(end, zone)}`
  return columns([
    ['lowest', String(lowest.value), intervalText(lowest)],
    ['highest', String(highest.value), intervalText(highest)],
    ['mean', mean.toFixed(4), ''],
  ])
}

/** Format prices for a terminal. */
export const pricesText = (prices: Prices): string => {
  const values = chartValues(prices)
  const zone = timeZone(prices.location_timezone)
  if (zone === null) throw new RangeError(`Unknown time zone ${prices.location_timezone}.`)
  const { tariff_direction: direction, location_id: id, currency_code: currency, location_timezone: zoneName } = prices
  const title = `  ${direction} prices of ${id}, ${currency} per kWh, time zone ${zoneName}`
  const hasForecasts = values.some(({ isFaint }) => isFaint === true)
  const forecastNote = hasForecasts ? ['', '  Dim columns are forecasts, or prices after the end of a contract.'] : []
  return [title, '', columnChart(values, zone), '', priceFacts(values, prices.location_timezone), ...forecastNote].join(
    '\n',
  )
}

export const pricesCommand: Command = {
  name: 'prices',
  operands: ['LOCATION'],
  summary: 'Show the energy prices of a location.',
  details: [
    'Requires a running service. Draws the prices of a location over time.',
    'Default address and key: sandbox.json in the data folder. --base-url, --account and --key accept a live key.',
  ],
  options: {
    hours: { value: 'N', summary: `Number of hours, up to ${maxHours}. Default: 24.` },
    direction: {
      value: 'DIRECTION',
      summary: 'Direction of the energy. Default: IMPORT.',
      choices: ['IMPORT', 'EXPORT', 'LOCAL'],
    },
    ...targetOptions,
  },
  run: async input => {
    const [location = ''] = input.operands
    const hours = readHours(input.options['hours'] ?? '24')
    const target = readAnyTarget(input)
    const start = Math.floor(input.at / hourMs) * hourMs
    const client = await logIn(target.baseUrl, target.account, target.key)
    const prices = await client.ask(
      priceRetrieve,
      { id: location },
      {
        start_time: writeInstant(start),
        end_time: writeInstant(start + hours * hourMs),
        tariff_direction: input.options['direction'] ?? 'IMPORT',
      },
    )
    return success(pricesText(prices), prices)
  },
}
