import { type Forecast, type ForecastPrice, historyMs, maxForecastMs } from '../domain/forecast/forecast-prices.ts'
import { forecastZone } from '../domain/forecast/forecast-zone.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  type DueForecast,
  type ForecastInterval,
  findChangedClocks,
  markForecastsDue,
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

export type ForecastWorkOptions = {
  readonly database: Database
  readonly forecast: Forecast
  /** Announce new prices of a source in all partitions. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  readonly logger: Pick<Logger, 'info'>
  /** Current instant in ms. */
  readonly at: () => number
}

/** Maximum gaps of one source in a turn. The limit lets other sources have their turn. */
const maxGapsPerTurn = 32

const toInterval = ({ start, end, value, confidence }: ForecastPrice): ForecastInterval => ({
  start,
  end,
  value: BigInt(Math.round(value)),
  confidence: Math.round(confidence * 10_000),
})

const forecastGap = async (
  options: ForecastWorkOptions,
  due: DueForecast,
  timezone: string,
  gap: PriceGap,
): Promise<readonly ForecastInterval[]> => {
  const history = await readPublished(options.database.operator, due.sourceId, {
    from: gap.start - historyMs,
    to: gap.start,
  })
  const until = Math.min(gap.end ?? Number.POSITIVE_INFINITY, gap.start + maxForecastMs)
  const prices = await options.forecast(history, timezone, { start: gap.start, end: until })
  return prices.map(toInterval)
}

/**
 * Update the forecasts of one source after a change of its published prices. Each gap in the published prices gets
 * forecasts for up to five days, calculated from the prices before the gap. The forecasts have a higher price revision,
 * and the costs that they change are recalculated. If the prices change again meanwhile, nothing is stored and the
 * source stays due.
 */
const updateForecasts = async (options: ForecastWorkOptions, due: DueForecast): Promise<void> => {
  const timezone = forecastZone(due)
  const gaps = await priceGaps(options.database.operator, due, maxGapsPerTurn + 1)
  const next = gaps[maxGapsPerTurn]?.start ?? null
  const forecasts: ForecastInterval[] = []
  for (const gap of gaps.slice(0, maxGapsPerTurn)) forecasts.push(...(await forecastGap(options, due, timezone, gap)))
  const run = { due, timezone, forecasts, firstGap: gaps[0]?.start ?? due.from, next }
  const change = await withOperator(options.database, transaction => storeForecasts(transaction, run))
  if (change === null) return
  await options.announcePrices(change)
  options.logger.info(
    { source: due.sourceId, revision: change.revision, prices: forecasts.length },
    'Forecasts updated',
  )
}

/** Time in ms between two searches for changed clocks. */
const clockSearchMs = 10_000

/**
 * Mark the sources whose forecasts follow another clock than theirs: a first location appeared, or a time zone changed.
 * Returns the number of marked sources.
 */
const markChangedClocks = async ({ database }: ForecastWorkOptions): Promise<number> => {
  const found = await findChangedClocks(database.operator)
  const changed = found.filter(one => forecastZone(one) !== one.forecastTimezone)
  return changed.length === 0 ? 0 : markForecastsDue(database.operator, changed)
}

/**
 * Work that updates forecasts within seconds after published prices or a clock changed, one source per turn. The
 * database lists the sources that are due, so a restart loses none. Source: docs/rules/markets-and-forecasts.md #forecasts.
 */
export const forecastWork = (options: ForecastWorkOptions): LeasedWork => {
  let lastSourceId = ''
  let clocksSearchedAt = Number.NEGATIVE_INFINITY
  const nextDue = async (): Promise<DueForecast | null> => {
    const due = await nextDueForecast(options.database.operator, lastSourceId)
    if (due !== null || Math.abs(options.at() - clocksSearchedAt) < clockSearchMs) return due
    clocksSearchedAt = options.at()
    const marked = await markChangedClocks(options)
    return marked === 0 ? null : nextDueForecast(options.database.operator, lastSourceId)
  }
  return {
    name: 'forecasts',
    restMs: 1_000,
    turn: async () => {
      const due = await nextDue()
      if (due === null) return false
      lastSourceId = due.sourceId
      await updateForecasts(options, due)
      return true
    },
  }
}
