import fc from 'fast-check'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type {
  DaysAndHours,
  ScheduleEntry,
  Tariff,
  TariffDirection,
  TariffType,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'
import { schedules } from '../../support/oracle/generate-schedule.ts'
import type { Random } from '../../support/random.ts'

/** Members of a tariff that a history chooses. The other members have default values. */
type Terms = Partial<Tariff> & { readonly schedule: readonly ScheduleEntry[] }

/** All records start in this year, in UTC. */
export const year = { start: Date.UTC(2025, 0, 1), end: Date.UTC(2026, 0, 1) }

const hour = 3600

/** Return a random price in 1e-9 per kWh, with nine random decimals. */
const nano = (random: Random, from: number, to: number): bigint => BigInt(from * 1e9 + random.below((to - from) * 1e9))

const rate = (random: Random, more: Partial<Rate> = {}): Rate => ({
  fixed: nano(random, 0.05, 0.45),
  to: null,
  surchargeFixed: random.chance(0.4) ? nano(random, 0, 0.04) : 0n,
  surchargePercentage: random.chance(0.4) ? BigInt(random.below(400_000_001)) * 1_000_000n : 0n,
  ...more,
})

/** Return two to four tiers whose bounds the energy of a month reaches. */
const tiers = (random: Random, more: Partial<Rate> = {}): readonly Rate[] => {
  const bounds = Array.from({ length: 1 + random.below(3) }, () => BigInt(20_000 + random.below(900_000)) * 1_000_003n)
  return [...bounds.sort((a, b) => (a < b ? -1 : 1)), null].map(to => rate(random, { ...more, to }))
}

type Rates = () => readonly Rate[]

const wholeDay = (rates: Rates): readonly TimeBand[] => [{ validFrom: 0, validTo: 86_400, rate: rates() }]

/** Return time bands for day, evening and night. The evening starts at a half hour, and the night includes midnight. */
const threeBands = (random: Random, rates: Rates): readonly TimeBand[] => {
  const [from, to] = [hour * (5 + random.below(4)), hour * (17 + random.below(3)) + 1800]
  const night = hour * 22 + random.below(3600)
  return [
    { validFrom: from, validTo: to, rate: rates() },
    { validFrom: to, validTo: night, rate: rates() },
    { validFrom: night, validTo: from, rate: rates() },
  ]
}

const always = (...daysAndHours: readonly DaysAndHours[]): readonly ScheduleEntry[] => [
  { months: ['All'], dates: [], daysAndHours },
]
const flat = (rates: Rates) => always({ days: ['All'], hours: wholeDay(rates) })
const timeOfUse = (random: Random, rates: Rates) =>
  always({ days: ['Weekdays'], hours: threeBands(random, rates) }, { days: ['Weekend'], hours: wholeDay(rates) })

/** Return a schedule with winter, summer, and a separate price on the first day of each month. */
const seasonal = (random: Random, rates: Rates): readonly ScheduleEntry[] => [
  {
    months: ['Nov', 'Dec', 'Jan', 'Feb', 'Mar'],
    dates: [],
    daysAndHours: [{ days: ['All'], hours: threeBands(random, rates) }],
  },
  {
    months: ['Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct'],
    dates: [],
    daysAndHours: [{ days: ['All'], hours: wholeDay(rates) }],
  },
  { months: ['All'], dates: [1], daysAndHours: [{ days: ['All'], hours: wholeDay(rates) }] },
]

/** Return a random valid schedule. */
const anySchedule = (random: Random): readonly ScheduleEntry[] =>
  fc.sample(schedules({ market: false, amounts: 'usual' }), { seed: random.below(2 ** 30), numRuns: 1 })[0] ??
  flat(() => [rate(random)])

const tariff = (direction: TariffDirection, type: TariffType, terms: Terms): Tariff => ({
  id: '',
  direction,
  type,
  marketRates: false,
  contractStart: null,
  contractEnd: null,
  closedAt: null,
  ...terms,
})
const bought = (terms: Terms) => tariff('IMPORT', 'COMMODITY', terms)
const grid = (terms: Terms) => tariff('IMPORT', 'NON_COMMODITY', terms)
const sold = (terms: Terms) => tariff('EXPORT', 'COMMODITY', terms)

/** Return the schedule of a tariff that follows another tariff. */
export const nextSchedule = (random: Random): readonly ScheduleEntry[] =>
  random.chance(0.5) ? flat(() => tiers(random)) : timeOfUse(random, () => [rate(random)])

const market = { marketRates: true } as const
const noBase = { fixed: 0n } as const
const at = (month: number, date: number, minutes = 0): number => Date.UTC(2025, month - 1, date, 0, minutes)

/** Kinds of locations by their tariffs. `market` is true if the tariffs need market prices. */
export const locationKinds: readonly {
  readonly name: string
  readonly market: boolean
  readonly of: (random: Random) => readonly Tariff[]
}[] = [
  {
    name: 'fixed',
    market: false,
    of: r => [bought({ schedule: flat(() => [rate(r)]) }), sold({ schedule: flat(() => [rate(r)]) })],
  },
  { name: 'time of use', market: false, of: r => [bought({ schedule: timeOfUse(r, () => [rate(r)]) })] },
  {
    name: 'tiers',
    market: false,
    of: r => [bought({ schedule: flat(() => tiers(r)) }), sold({ schedule: flat(() => tiers(r)) })],
  },
  {
    name: 'two parts with tiers',
    market: false,
    of: r => [bought({ schedule: timeOfUse(r, () => tiers(r)) }), grid({ schedule: flat(() => tiers(r)) })],
  },
  {
    name: 'own generation',
    market: false,
    of: r => [
      bought({ schedule: seasonal(r, () => [rate(r)]) }),
      grid({ schedule: timeOfUse(r, () => [rate(r)]) }),
      sold({ schedule: flat(() => [rate(r)]) }),
      tariff('LOCAL', 'COMMODITY', { contractStart: at(4, 10, 615), schedule: timeOfUse(r, () => [rate(r)]) }),
    ],
  },
  {
    name: 'contracts one after the other',
    market: false,
    of: r => [
      bought({ contractEnd: at(3, 15, 630), schedule: flat(() => tiers(r)) }),
      bought({ contractStart: at(4, 2), contractEnd: at(8, 20, 17), schedule: timeOfUse(r, () => tiers(r)) }),
      bought({ contractStart: at(9, 9, 1), schedule: timeOfUse(r, () => [rate(r)]) }),
      grid({ contractStart: at(2, 1), contractEnd: at(5, 1), schedule: flat(() => [rate(r)]) }),
    ],
  },
  {
    name: 'begins late, ends early',
    market: false,
    of: r => [
      bought({ contractStart: at(2, 11, 605), contractEnd: at(4, 27, 1), schedule: timeOfUse(r, () => [rate(r)]) }),
    ],
  },
  {
    name: 'market',
    market: true,
    of: r => [
      bought({ ...market, schedule: timeOfUse(r, () => [rate(r, noBase)]) }),
      grid({ schedule: flat(() => [rate(r)]) }),
      sold({ ...market, schedule: flat(() => [rate(r, noBase)]) }),
    ],
  },
  {
    name: 'market with tiers',
    market: true,
    of: r => [
      bought({ contractEnd: at(6, 30, 1439), schedule: timeOfUse(r, () => [rate(r)]) }),
      bought({ ...market, contractStart: at(7, 1), schedule: flat(() => tiers(r, noBase)) }),
    ],
  },
  {
    name: 'any',
    market: false,
    of: r => [
      bought({ schedule: anySchedule(r) }),
      grid({ schedule: anySchedule(r) }),
      sold({ schedule: anySchedule(r) }),
    ],
  },
]
