import { readInstant } from '../../domain/instant.ts'
import { type BarChart, type ChartBar, timeLabel } from '../ui-kit/bar-chart.ts'

type Window = { readonly start_time: string; readonly end_time: string }
type Power = { readonly units: string; readonly value: number }

/** An example of a plan in the words of either layout. */
type PlanExample = {
  readonly location_timezone: string
  readonly data: readonly (Window & { readonly schedule: readonly (Window & { readonly power: Power })[] })[]
}

const instantOf = (text: string): { readonly at: number; readonly offsetMinutes: number } => {
  const read = readInstant(text, 'start_time')
  if (!read.ok) throw new Error(`an example has no instant: ${text}`)
  return read.value
}

type Piece = { readonly start: number; readonly end: number; readonly kilowatts: number }

const planPieces = ({ data }: PlanExample): readonly Piece[] =>
  data.flatMap(({ schedule }) =>
    schedule.map(({ start_time, end_time, power }) => ({
      start: instantOf(start_time).at,
      end: instantOf(end_time).at,
      kilowatts: power.units === 'KW' ? power.value : power.value / 1000,
    })),
  )

/** The power of all devices together over their windows, cut where one begins or ends. */
const barsOf = (example: PlanExample): readonly ChartBar[] => {
  const pieces = planPieces(example)
  const windows = example.data.flatMap(({ start_time, end_time }) => [instantOf(start_time).at, instantOf(end_time).at])
  const edges = [...new Set([...windows, ...pieces.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b)
  return edges.slice(1).map((end, index) => {
    const start = edges[index] ?? end
    const value = pieces
      .filter(one => one.start <= start && end <= one.end)
      .reduce((sum, one) => sum + one.kilowatts, 0)
    return { start, end, value: Math.round(value * 1e6) / 1e6, isMarked: value > 0 }
  })
}

/** Say when a plan runs, and at what power. */
const describePlan = (bars: readonly ChartBar[], offsetMinutes: number): string => {
  const runningBars = bars.filter(({ value }) => value > 0)
  const runTexts = runningBars.map(
    ({ start, end, value }) =>
      `${value} kW from ${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}`,
  )
  return runTexts.length === 0 ? 'Nothing is planned.' : `The devices together run at ${runTexts.join(', ')}.`
}

/** Make the picture of a plan: the power of all its devices over time. */
export const planChart = (id: string, example: PlanExample): BarChart => {
  const bars = barsOf(example)
  const { offsetMinutes } = instantOf(example.data[0]?.start_time ?? '')
  return {
    id,
    title: `A plan at a location in ${example.location_timezone}`,
    description: describePlan(bars, offsetMinutes),
    unit: 'kW',
    offsetMinutes,
    bars,
  }
}
