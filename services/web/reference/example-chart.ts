import { readInstant } from '../../domain/instant.ts'
import { type BarChart, barChart, type ChartBar, timeLabel } from '../ui-kit/bar-chart.ts'
import { type Html, html } from '../ui-kit/html.ts'
import type { DescribedOperation } from './document.ts'
import { planChart } from './plan-chart.ts'

/** An example of prices in the words of either layout. */
type PriceExample = {
  readonly currency_code: string
  readonly location_timezone: string
  readonly data: readonly {
    readonly valid_from: string
    readonly valid_to: string
    readonly price?: { readonly value: number; readonly confidence: number }
    readonly tariff?: { readonly rate: number; readonly confidence: number }
  }[]
}

const instantOf = (text: string): { readonly at: number; readonly offsetMinutes: number } => {
  const read = readInstant(text, 'valid_from')
  if (!read.ok) throw new Error(`an example has no instant: ${text}`)
  return read.value
}

const barsOf = ({ data }: PriceExample): readonly ChartBar[] =>
  data.flatMap(({ valid_from, valid_to, price, tariff }) => {
    const value = price?.value ?? tariff?.rate
    if (value === undefined) return []
    const isFaint = (price?.confidence ?? tariff?.confidence ?? 1) < 1
    return [{ start: instantOf(valid_from).at, end: instantOf(valid_to).at, value, isFaint }]
  })

const spanText = ({ start, end, value }: ChartBar, offsetMinutes: number): string =>
  `${value} from ${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}`

/** Say what a chart of prices shows: the lowest and the highest of them. */
const describePrices = (bars: readonly ChartBar[], offsetMinutes: number): string => {
  const [first, ...others] = bars
  if (first === undefined) return ''
  const lowest = others.reduce((bestSoFar, one) => (one.value < bestSoFar.value ? one : bestSoFar), first)
  const highest = others.reduce((bestSoFar, one) => (one.value > bestSoFar.value ? one : bestSoFar), first)
  return `The lowest price is ${spanText(lowest, offsetMinutes)}, the highest ${spanText(highest, offsetMinutes)}.`
}

const priceChart = (id: string, example: PriceExample): BarChart => {
  const bars = barsOf(example)
  const { offsetMinutes } = instantOf(example.data[0]?.valid_from ?? '')
  return {
    id,
    title: `Prices at a location in ${example.location_timezone}`,
    description: describePrices(bars, offsetMinutes),
    unit: `${example.currency_code} per kWh`,
    offsetMinutes,
    bars,
  }
}

/** How the example answers of some operations look as a picture, by operation. */
const chartsByOperation: Readonly<Record<string, (id: string, example: never) => BarChart>> = {
  price_retrieve: priceChart,
  schedule_amount_create: planChart,
}

/** Draw the example answer of an operation, where there is a picture of it. */
export const exampleChart = ({ id, answer }: Pick<DescribedOperation, 'id' | 'answer'>): Html | null => {
  const createChart = chartsByOperation[id]
  if (createChart === undefined || answer.example === undefined) return null
  const chart = createChart(`${id}-chart`, JSON.parse(JSON.stringify(answer.example)) as never)
  return html`<figure class="picture"><figcaption>${chart.title}</figcaption>${barChart(chart)}</figure>`
}
