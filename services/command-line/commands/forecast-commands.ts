import { readFileSync } from 'node:fs'
import { type Backtest, backtest, backtestMidnights } from '../../domain/forecast/backtest.ts'
import { hourGrid } from '../../domain/forecast/hour-grid.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { type Command, CommandError, success, UsageError } from '../command.ts'
import { type PriceFile, readPriceFile } from '../price-file.ts'
import { columns, table } from '../table.ts'

const hoursOfDay = 24
const defaultDays = 364
const minDays = 14
/** Number of forecasts between two progress lines. */
const forecastsPerProgress = 60

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw new CommandError(code === 'ENOENT' ? `There is no file ${path}.` : `Cannot read ${path}: ${code}.`, {
      cause: error,
    })
  }
}

const readZone = (name: string | undefined, { clock }: PriceFile) => {
  if (name === undefined) return clock
  const zone = timeZone(name)
  if (zone === null) throw new UsageError(`--zone must be an IANA name such as Europe/Berlin, not "${name}".`)
  return zone
}

const readDays = (text: string | undefined): number => {
  if (text === undefined) return defaultDays
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--days must be a number of days, not "${text}".`)
  return Number(text)
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
  { forecasts, days, uncertaintyCorrelation }: Backtest,
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
  doubt_correlation: uncertaintyCorrelation,
})

const backtestCommand: Command = {
  name: 'forecast backtest',
  operands: ['FILE.csv'],
  summary: 'Measure price forecasts with past prices.',
  details: [
    'Reads rows with a time and a price, in any unit. Steps shorter than an hour are averaged per hour.',
    'Calculates a forecast of five days at each midnight, from the earlier prices only.',
    '  mae                mean absolute error per day ahead',
    '  naive mae          mean absolute error of the price at the same hour one week before',
    '  rmae               mae divided by naive mae; below 1 is better than the naive forecast',
    '  mean confidence    mean confidence of the forecast prices',
    '  error correlation  rank correlation of (1 − confidence) and absolute error; above 0 is useful',
    'Midnights use the UTC offsets of the file, or --zone.',
  ],
  options: {
    days: {
      value: 'DAYS',
      summary: `Number of days with a forecast. Default: ${defaultDays}, fewer for a short file.`,
    },
    zone: { value: 'ZONE', summary: 'Time zone of the market, such as Europe/Berlin.' },
    'time-column': { value: 'COLUMN', summary: 'Name or number of the column with the start time.' },
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
        `The file must contain at least ${minDays} days of prices: 7 days to learn from and 7 days to compare with.`,
      )
    }
    const hours = hourlyPrices.values.length
    const midnights = backtestMidnights(
      hourlyPrices,
      Math.max(hours - days * hoursOfDay, Math.min(8 * 7 * hoursOfDay, Math.floor(hours / 2))),
    )
    const result = backtest(hourlyPrices, midnights, finished => {
      if (finished % forecastsPerProgress === 0) onProgress(`  ${finished} of ${midnights.length} forecasts`)
    })
    const filledHours = hourlyPrices.known.reduce((count, isKnown) => count + 1 - isKnown, 0)
    const rows: [string, string][] = [
      ['prices', `${starts.length} of ${file.stepMs / 60_000} minutes, ${writeInstant(start)} to ${writeInstant(end)}`],
      ['hours without a price', String(filledHours)],
      ['forecasts', `${result.forecasts}, one per day, over ${Math.ceil(hours / hoursOfDay)} days of prices`],
      [
        'clock',
        options['zone'] ?? (file.hasOffsets ? 'UTC offsets of the file' : 'times of the file, without UTC offset'),
      ],
      ['error correlation', fixedText(result.uncertaintyCorrelation, 3)],
    ]
    return success(
      resultText(result, rows),
      toJson(result, { from: writeInstant(start), to: writeInstant(start + hours * hourMs) }),
    )
  },
}

/** Commands for price forecasts. */
export const forecastCommands: readonly Command[] = [backtestCommand]
