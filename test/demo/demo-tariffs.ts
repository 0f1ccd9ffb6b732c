import type { SiteKind } from './fleet.ts'
import { seededRandom } from './random.ts'
import { bell, hourMs, type Period } from './reading.ts'

type Rate = {
  readonly fixed?: number
  readonly to_kwh?: number
  readonly surcharge_fixed?: number
  readonly surcharge_percentage?: number
}
type Hours = { readonly valid_from: string; readonly valid_to: string; readonly rate: readonly Rate[] }

/** Body of a tariff without its location. */
export type DemoTariff = {
  readonly direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly type: 'COMMODITY' | 'NON_COMMODITY'
  readonly display_name: string
  readonly market_rates?: boolean
  readonly schedule: readonly object[]
}

const schedule = (...hours: readonly Hours[]) => [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
const allDay = (...rate: readonly Rate[]) => schedule({ valid_from: '00:00:00', valid_to: '00:00:00', rate })
const band = (from: number, to: number, fixed: number): Hours => {
  const clock = (hour: number): string => `${String(hour).padStart(2, '0')}:00:00`
  return { valid_from: clock(from), valid_to: clock(to), rate: [{ fixed }] }
}

/** Tiers of a factory. The price falls with the energy since the start of the contract in this month. */
export const factoryTiers: readonly Rate[] = [
  { fixed: 0.238, to_kwh: 2_500 },
  { fixed: 0.204, to_kwh: 5_500 },
  { fixed: 0.179 },
]

const dayAndNight: DemoTariff = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  display_name: 'Day and night',
  schedule: schedule(band(6, 22, 0.334), band(22, 6, 0.218)),
}

/** Upper limit of the price per kWh of a charging session in all tariffs below. */
export const maxPrice = 0.4

export const tariffsOf: Readonly<Record<SiteKind, readonly DemoTariff[]>> = {
  household: [dayAndNight],
  market: [
    {
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'Market price, 19 % tax',
      market_rates: true,
      schedule: allDay({ surcharge_fixed: 0.021, surcharge_percentage: 0.19 }),
    },
    { direction: 'IMPORT', type: 'NON_COMMODITY', display_name: 'Grid fees', schedule: allDay({ fixed: 0.114 }) },
  ],
  solar: [
    dayAndNight,
    { direction: 'EXPORT', type: 'COMMODITY', display_name: 'Feed-in', schedule: allDay({ fixed: 0.0794 }) },
  ],
  charging: [
    {
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'Charging site, evening peak',
      schedule: schedule(band(0, 6, 0.171), band(6, 17, 0.226), band(17, 21, 0.317), band(21, 0, 0.226)),
    },
    { direction: 'IMPORT', type: 'NON_COMMODITY', display_name: 'Grid fees', schedule: allDay({ fixed: 0.068 }) },
  ],
  factory: [
    { direction: 'IMPORT', type: 'COMMODITY', display_name: 'Volume tiers', schedule: allDay(...factoryTiers) },
  ],
}

/** Market price per kWh for one hour, with five decimals. `start` and `end` are in ms. */
export type MarketPrice = { readonly start: number; readonly end: number; readonly value: number }

/** Simulate market prices of summer days: peaks in the morning and evening, and negative prices in the afternoon. */
export const marketPrices = (period: Period, seed: number): readonly MarketPrice[] => {
  const random = seededRandom(seed, 'market')
  return Array.from({ length: period.days * 24 }, (_, index) => {
    const hour = index % 24
    const value =
      0.082 +
      0.035 * bell(hour, 8, 1.6) +
      0.078 * bell(hour, 20, 2.1) -
      0.094 * bell(hour, 13.5, 3) +
      random.between(-0.006, 0.006)
    const start = period.start + index * hourMs
    return { start, end: start + hourMs, value: Math.round(value * 1e5) / 1e5 }
  })
}
