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

const week = (...days_and_hours: readonly { readonly days: readonly string[]; readonly hours: readonly Hours[] }[]) => [
  { months: ['All'], days_and_hours },
]
const schedule = (...hours: readonly Hours[]) => week({ days: ['All'], hours })
const band = (valid_from: string, valid_to: string, ...rate: readonly Rate[]): Hours => ({
  valid_from: `${valid_from}:00`,
  valid_to: `${valid_to}:00`,
  rate,
})
const allDay = (...rate: readonly Rate[]): Hours => band('00:00', '00:00', ...rate)

/** Tiers of a factory. The price falls with the energy since the start of the contract in this month. */
export const factoryTiers: readonly Rate[] = [
  { fixed: 0.238, to_kwh: 2_500 },
  { fixed: 0.204, to_kwh: 5_500 },
  { fixed: 0.179 },
]

/** Upper limit of the price per kWh of a session at a charging park. */
export const maxChargingPrice = 0.4

const imported = { direction: 'IMPORT', type: 'COMMODITY' } as const
const gridFee = { direction: 'IMPORT', type: 'NON_COMMODITY' } as const

/** Plan of the British homes. Its night begins at 00:30. */
export const economySeven = {
  name: 'Economy 7',
  currency_code: 'GBP',
  tariffs: [
    {
      ...imported,
      display_name: 'Economy 7',
      schedule: schedule(band('00:30', '07:30', { fixed: 0.149 }), band('07:30', '00:30', { fixed: 0.298 })),
    },
  ],
  charges: [{ kind: 'FIXED', name: 'Standing charge', component: 'standing', price: 0.5316, per: 'DAY' }],
}

/** Plan that no site has. A simulation can compare it with Economy 7. */
export const flatRate = {
  name: 'Flat rate',
  currency_code: 'GBP',
  tariffs: [{ ...imported, display_name: 'Flat rate', schedule: schedule(allDay({ fixed: 0.2635 })) }],
  charges: [{ kind: 'FIXED', name: 'Standing charge', component: 'standing', price: 0.4478, per: 'DAY' }],
}

/** Tariffs of each kind of site. British homes have the tariff of their plan. */
export const tariffsOf: Readonly<Record<SiteKind, readonly DemoTariff[]>> = {
  household: [],
  market: [
    {
      ...imported,
      display_name: 'Dynamic: day-ahead price + 2.1 ct, 19 % VAT',
      market_rates: true,
      schedule: schedule(allDay({ surcharge_fixed: 0.021, surcharge_percentage: 0.19 })),
    },
    {
      ...gridFee,
      display_name: 'Grid fees, § 14a EnWG module 3',
      schedule: schedule(
        band('22:00', '10:00', { fixed: 0.0472 }),
        band('10:00', '15:00', { fixed: 0.0047 }),
        band('15:00', '17:00', { fixed: 0.0472 }),
        band('17:00', '22:00', { fixed: 0.0903 }),
      ),
    },
  ],
  nordic: [
    { ...imported, display_name: 'Strøm, fastpris', schedule: schedule(allDay({ fixed: 0.79 })) },
    {
      ...gridFee,
      display_name: 'Nettleie, energiledd',
      schedule: week(
        {
          days: ['Weekdays'],
          hours: [band('06:00', '22:00', { fixed: 0.441 }), band('22:00', '06:00', { fixed: 0.351 })],
        },
        { days: ['Weekend'], hours: [allDay({ fixed: 0.351 })] },
      ),
    },
  ],
  solar: [
    {
      ...imported,
      display_name: 'Day and night',
      schedule: schedule(band('06:00', '22:00', { fixed: 0.334 }), band('22:00', '06:00', { fixed: 0.218 })),
    },
    {
      direction: 'EXPORT',
      type: 'COMMODITY',
      display_name: 'Feed-in (EEG)',
      schedule: schedule(allDay({ fixed: 0.0794 })),
    },
  ],
  charging: [
    {
      ...imported,
      display_name: 'Charging park, evening peak',
      schedule: schedule(
        band('00:00', '06:00', { fixed: 0.171 }),
        band('06:00', '17:00', { fixed: 0.226 }),
        band('17:00', '21:00', { fixed: 0.317 }),
        band('21:00', '00:00', { fixed: 0.226 }),
      ),
    },
    { ...gridFee, display_name: 'Grid fees', schedule: schedule(allDay({ fixed: 0.068 })) },
  ],
  factory: [{ ...imported, display_name: 'Volume tiers', schedule: schedule(allDay(...factoryTiers)) }],
  unpriced: [],
}

/** Charges of each kind of site. British homes have the charge of their plan. */
export const chargesOf: Readonly<Record<SiteKind, readonly object[]>> = {
  household: [],
  market: [{ kind: 'FIXED', name: 'Base price', component: 'base', price: 5.9, per: 'MONTH' }],
  nordic: [
    {
      kind: 'DEMAND',
      name: 'Kapasitetsledd',
      component: 'grid',
      highest: 3,
      distinct_days: true,
      per: 'MONTH',
      steps: [
        { from_kw: 0, amount: 160 },
        { from_kw: 2, amount: 265 },
        { from_kw: 5, amount: 430 },
        { from_kw: 10, amount: 790 },
      ],
    },
  ],
  solar: [],
  charging: [{ kind: 'SESSION', name: 'Start fee', component: 'session', price: 0.35, per: 'SESSION' }],
  factory: [{ kind: 'DEMAND', name: 'Peak power', component: 'grid', price: 9.85, interval_minutes: 15, per: 'MONTH' }],
  unpriced: [],
}

/** Market price per kWh for one hour, with five decimals. `start` and `end` are in ms. */
export type MarketPrice = { readonly start: number; readonly end: number; readonly value: number }

/** Simulate market prices of days: peaks in the morning and evening, and negative prices in the afternoon. */
export const marketPrices = ({ start: from, days }: Omit<Period, 'end'>, seed: number): readonly MarketPrice[] => {
  const random = seededRandom(seed, 'market')
  return Array.from({ length: days * 24 }, (_, index) => {
    const hour = index % 24
    const value =
      0.082 +
      0.035 * bell(hour, 8, 1.6) +
      0.078 * bell(hour, 20, 2.1) -
      0.094 * bell(hour, 13.5, 3) +
      random.between(-0.006, 0.006)
    const start = from + index * hourMs
    return { start, end: start + hourMs, value: Math.round(value * 1e5) / 1e5 }
  })
}
