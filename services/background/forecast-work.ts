import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TimeZone } from '../domain/civil-time.ts'
import { type ForecastPrice, forecastPrices, historyMs, maxForecastMs } from '../domain/forecast/forecast-prices.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  type DueForecast,
  type ForecastInterval,
  nextDueForecast,
  type PriceGap,
  priceGaps,
  readPublished,
  storeForecasts,
} from '../platform/postgres/pricing/forecasts.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { forecastZone } from './forecast-zone.ts'

export type ForecastWorkOptions = {
  readonly database: Database
  /** Find a zone by its IANA name. */
  readonly timeZone: (name: string) => TimeZone | null
  /** Tell the lanes of a source's new prices. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  readonly logger: Pick<Logger, 'info'>
  /** The present instant (ms). */
  readonly at: () => number
}

/** Gaps of one source that a turn takes; more are left to its next turn, so that no source keeps the others waiting. */
const maxGapsPerTurn = 32

const toInterval = ({ start, end, value, confidence }: ForecastPrice): ForecastInterval => ({
  start,
  end,
  value: BigInt(Math.round(value)),
  confidence: Math.round(confidence * 10_000),
})

/** Work in slices of some milliseconds, so that requests are answered between them. */
const runInSlices = async <T>(steps: Generator<void, T>): Promise<T> => {
  for (;;) {
    const stepResult = steps.next()
    if (stepResult.done === true) return stepResult.value
    await nextTurn()
  }
}

const forecastGap = async (
  options: ForecastWorkOptions,
  due: DueForecast,
  gap: PriceGap,
): Promise<readonly ForecastInterval[]> => {
  const zone = options.timeZone(forecastZone(due.area))
  if (zone === null) throw new RangeError(`the zone of market area ${due.area} is unknown`)
  const history = await readPublished(options.database.operator, due.sourceId, {
    from: gap.start - historyMs,
    to: gap.start,
  })
  const until = Math.min(gap.end ?? Number.POSITIVE_INFINITY, gap.start + maxForecastMs)
  const prices = await runInSlices(forecastPrices(history, zone, { start: gap.start, end: until }))
  return prices.map(toInterval)
}

/**
 * Make the forecasts of one source follow its published prices: in each gap from the change on, up to five days, from the prices before the
 * gap. They stand beside the published prices under a higher price revision, and all that they change is priced again.
 * What prices have overtaken meanwhile is not stored and stays due.
 */
const updateForecasts = async (options: ForecastWorkOptions, due: DueForecast): Promise<void> => {
  const gaps = await priceGaps(options.database.operator, due, maxGapsPerTurn + 1)
  const next = gaps[maxGapsPerTurn]?.start ?? null
  const forecasts: ForecastInterval[] = []
  for (const gap of gaps.slice(0, maxGapsPerTurn)) forecasts.push(...(await forecastGap(options, due, gap)))
  const run = { due, forecasts, firstGap: gaps[0]?.start ?? due.from, next }
  const change = await withOperator(options.database, transaction => storeForecasts(transaction, run, options.at()))
  if (change === null) return
  await options.announcePrices(change)
  options.logger.info(
    { source: due.sourceId, revision: change.revision, prices: forecasts.length },
    'prices are forecast',
  )
}

/**
 * Forecast within seconds after published prices have changed, by turns over the sources. What is due stands in the database, so nothing is
 * forgotten when a process ends. Source: docs/rules/markets-and-forecasts.md #forecasts.
 */
export const forecastWork = (options: ForecastWorkOptions): LeasedWork => {
  let lastSourceId = ''
  return {
    name: 'forecasts',
    restMs: 1_000,
    turn: async () => {
      const due = await nextDueForecast(options.database.operator, lastSourceId)
      if (due === null) return false
      lastSourceId = due.sourceId
      await updateForecasts(options, due)
      return true
    },
  }
}
