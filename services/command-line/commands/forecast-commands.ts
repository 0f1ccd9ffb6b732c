import { readFileSync } from 'node:fs'
import { type Backtest, backtest, backtestMidnights } from '../../domain/forecast/backtest.ts'
import { hourGrid, hourMs } from '../../domain/forecast/hour-grid.ts'
import { writeInstant } from '../../domain/instant.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { type Command, CommandError, type CommandInput, success, UsageError } from '../command.ts'
import { type PriceFile, readPriceFile } from '../price-file.ts'
import { columns, table } from '../table.ts'

const hoursOfDay = 24
const defaultDays = 364
const minDays = 14
/** Forecasts between two lines of progress. */
const forecastsPerProgress = 60

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw new CommandError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read (${code})`, {
      cause: error,
    })
  }
}

const readZone = (name: string | undefined, { clock }: PriceFile) => {
  if (name === undefined) return clock
  const zone = timeZone(name)
  if (zone === null) throw new UsageError(`--zone is an IANA name such as Europe/Berlin, not "${name}"`)
  return zone
}

const readDays = (text: string | undefined): number => {
  if (text === undefined) return defaultDays
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--days is a number of days, not "${text}"`)
  return Number(text)
}

const runBacktest = (
  steps: Generator<number, Backtest>,
  count: number,
  onProgress: CommandInput['onProgress'],
): Backtest => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (step.value % forecastsPerProgress === 0) onProgress(`  ${step.value} of ${count} days are forecast`)
  }
}

const fixedText = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')

const resultText = (result: Backtest, rows: readonly (readonly [string, string])[]): string => {
  const columnNames = ['day ahead', 'hours', 'mae', 'naive mae', 'rmae', 'mean confidence']
  const lines = result.days.map(day => [
    String(day.ahead),
    String(day.hours),
    fixedText(day.mae, 3),
    fixedText(day.naiveMae, 3),
    fixedText(day.rmae, 3),
    fixedText(day.meanConfidence, 3),
  ])
  return `${columns(rows)}\n\n${table(columnNames, lines, '')}`
}

const toJson = (
  { forecasts, days, uncertaintyCorrelation: doubtCorrelation }: Backtest,
  interval: { readonly from: string; readonly to: string },
) => ({
  ...interval,
  forecasts,
  days: days.map(day => ({
    day_ahead: day.ahead,
    hours: day.hours,
    mae: day.mae,
    naive_mae: day.naiveMae,
    rmae: day.rmae,
    mean_confidence: day.meanConfidence,
  })),
  doubt_correlation: doubtCorrelation,
})

const backtestCommand: Command = {
  name: 'forecast backtest',
  operands: ['FILE.csv'],
  summary: 'Measure price forecasts on prices of the past.',
  details:
    'Reads a time and a price a row (any unit; hours or finer steps, which are taken as their hourly mean) and forecasts five days from each\nmidnight, from the prices before it alone. Shows the mean absolute error of each day ahead, that of the naive forecast (the same hour a\nweek before), their quotient rmae (below 1 is better than naive), and the mean confidence. Doubt and error is the rank correlation of\n1 − confidence with the absolute error: above 0 where the confidence tells something. Midnights are those of the offsets in the file,\nor of --zone.',
  options: {
    days: {
      value: 'DAYS',
      summary: `Forecast from each of the last so many days (${defaultDays}, or what a short file leaves).`,
    },
    zone: { value: 'ZONE', summary: 'The zone of the market, such as Europe/Berlin.' },
    'time-column': { value: 'COLUMN', summary: 'Name or number of the column with the start of an interval.' },
    'price-column': { value: 'COLUMN', summary: 'Name or number of the column with the price.' },
  },
  run: async ({ operands, options, onProgress }) => {
    const [path = ''] = operands
    const days = readDays(options['days'])
    const file = readPriceFile(readText(path), { time: options['time-column'], price: options['price-column'] })
    const { starts, ends } = file.history
    const [start, end] = [starts[0] ?? 0, ends.at(-1) ?? 0]
    const hourlyPrices = hourGrid(file.history, readZone(options['zone'], file), end)
    if (hourlyPrices === null || hourlyPrices.values.length < minDays * hoursOfDay) {
      throw new CommandError(
        `at least ${minDays} days of prices are needed: a week to learn from and a week to compare with`,
      )
    }
    const hours = hourlyPrices.values.length
    const midnights = backtestMidnights(
      hourlyPrices,
      Math.max(hours - days * hoursOfDay, Math.min(8 * 7 * hoursOfDay, Math.floor(hours / 2))),
    )
    const result = runBacktest(backtest(hourlyPrices, midnights), midnights.length, onProgress)
    const filledHours = hourlyPrices.known.reduce((count, isKnown) => count + 1 - isKnown, 0)
    const rows: [string, string][] = [
      [
        'prices',
        `${starts.length}, ${file.stepMs / 60_000} minutes each, ${writeInstant(start)} to ${writeInstant(end)}`,
      ],
      ['hours without a price', String(filledHours)],
      ['forecasts', `${result.forecasts}, one a day, over ${Math.ceil(hours / hoursOfDay)} days of prices`],
      ['clock', options['zone'] ?? (file.hasOffsets ? 'as in the file' : 'as in the file, whose times have no offset')],
      ['doubt and error', fixedText(result.uncertaintyCorrelation, 3)],
    ]
    return success(
      resultText(result, rows),
      toJson(result, { from: writeInstant(start), to: writeInstant(start + hours * hourMs) }),
    )
  },
}

/** Commands on price forecasts. */
export const forecastCommands: readonly Command[] = [backtestCommand]
