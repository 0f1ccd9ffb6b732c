import { type Forecast, forecastPrices } from '../../../services/domain/forecast/forecast-prices.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'

/** Forecast prices without another thread. */
export const forecastNow: Forecast = async (history, timezone, interval) => {
  const zone = timeZone(timezone)
  if (zone === null) throw new RangeError(timezone)
  return forecastPrices(history, zone, interval)
}
