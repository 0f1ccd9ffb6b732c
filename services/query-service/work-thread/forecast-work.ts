import { forecastPrices } from '../../domain/forecast/forecast-prices.ts'
import type { PriceHistory } from '../../domain/forecast/hour-grid.ts'
import type { Interval } from '../../domain/interval.ts'
import { timeZone } from '../../platform/time-zone.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'

/** Prices to forecast. `timezone` is the clock of the market. */
type ForecastInput = { readonly history: PriceHistory; readonly timezone: string; readonly interval: Interval }

/** Forecast prices. The head is the forecast. */
export const forecastWork = ({ history, timezone, interval }: ForecastInput): WorkResult => {
  const zone = timeZone(timezone)
  if (zone === null) throw new RangeError(`The time zone ${timezone} is unknown.`)
  return { head: forecastPrices(history, zone, interval), chunks: [] }
}
