import { localClock, monthStart } from '../oracle/local-clock.ts'
import type { PricePart } from '../oracle/price-at.ts'
import { energyUntil, type Interval, type Segment, samePart } from '../oracle/segments.ts'
import type { RateBody, TariffBody } from './bill-input.ts'
import type { BillContext } from './bill-line.ts'
import type { BillRecord } from './bill-records.ts'
import { bandAt, type DayBand, edgeSeconds, readSchedule } from './day-bands.ts'
import { nanoOf, percentageOf } from './fraction.ts'
import { instantsOf } from './local-days.ts'

type Rates = PricePart['rates']

/** Tariff of the input, with its place in the input. Instants are in ms. */
export type BillTariff = {
  readonly id: string
  readonly place: number
  readonly direction: TariffBody['direction']
  readonly type: TariffBody['type']
  readonly component: string
  readonly start: number
  readonly end: number | null
  readonly bands: readonly DayBand<Rates>[]
}

const quarterYearMs = 90 * 24 * 3_600_000

const readRates = (rates: readonly RateBody[]): Rates =>
  rates.map(({ fixed, to_kwh, surcharge_fixed, surcharge_percentage }) => ({
    fixed: nanoOf(fixed),
    to: to_kwh == null ? null : nanoOf(to_kwh),
    surchargeFixed: nanoOf(surcharge_fixed ?? 0),
    surchargePercentage: percentageOf(surcharge_percentage ?? 0),
  }))

/** Read the tariffs, the earliest contract first. */
export const readTariffs = (bodies: readonly TariffBody[]): BillTariff[] =>
  bodies
    .map((body, place) => ({
      id: `trf_${place}`,
      place,
      direction: body.direction,
      type: body.type,
      component: body.component ?? (body.type === 'COMMODITY' ? 'energy' : 'grid'),
      start: body.contract_start_date == null ? Number.NEGATIVE_INFINITY : Date.parse(body.contract_start_date),
      end: body.contract_end_date == null ? null : Date.parse(body.contract_end_date),
      bands: readSchedule(body.schedule, readRates),
    }))
    .sort((a, b) => (a.start === b.start ? a.place - b.place : a.start - b.start))

/** After its contract, a tariff goes on provisionally: 0.8 of the confidence, 0.2 less every 90 days, at least 0.2. */
const confidenceOf = ({ end }: BillTariff, at: number): number =>
  end === null || at < end ? 1 : ([0.8, 0.6, 0.4][Math.floor((at - end) / quarterYearMs)] ?? 0.2)

const free: PricePart = {
  tariffId: null,
  rates: [],
  market: 0n,
  confidence: 1,
  countingStart: Number.NEGATIVE_INFINITY,
}

/** Tariffs of the location with what decides their prices. */
export type Pricing = Pick<BillContext, 'zone' | 'calendar'> & { readonly tariffs: readonly BillTariff[] }

/** Return the part of the price at an instant; null if there is no price. */
export const partAt = (
  { tariffs, zone, calendar }: Pricing,
  direction: TariffBody['direction'],
  type: TariffBody['type'],
  at: number,
): PricePart | null => {
  const tariff = tariffs.findLast(one => one.direction === direction && one.type === type && one.start <= at)
  if (tariff === undefined) return type === 'NON_COMMODITY' || direction === 'LOCAL' ? free : null
  return {
    tariffId: tariff.id,
    market: 0n,
    confidence: confidenceOf(tariff, at),
    rates: bandAt(tariff.bands, localClock(zone, at), calendar).value,
    countingStart: Math.max(monthStart(zone, at), tariff.start),
  }
}

/** Return all instants in a record at which its price or its coverage could change. */
const changesIn = ({ tariffs }: Pricing, { record, covered }: BillRecord): number[] => {
  const { start, end } = record
  const seconds = edgeSeconds(tariffs.flatMap(({ bands }) => bands.map(band => band.seconds)))
  const contractEdges = tariffs.flatMap(tariff => {
    const ends = tariff.end === null ? [] : [0, 1, 2, 3].map(passed => (tariff.end ?? 0) + passed * quarterYearMs)
    return [tariff.start, ...ends]
  })
  const coverEdges = covered.flatMap(part => [part.start, part.end])
  const others = [...contractEdges, ...coverEdges].filter(at => at > start && at < end)
  return [...instantsOf(start, end, seconds), ...others].sort((a, b) => a - b)
}

const isCovered = (at: number, covered: readonly Interval[]): boolean =>
  covered.some(({ start, end }) => start <= at && at < end)

/** Split a record into segments in which only a tier can change the price, minute by minute. */
export const segmentsOf = (pricing: Pricing, one: BillRecord): Segment[] => {
  const { record } = one
  const open: Pick<Segment, 'start' | 'covered' | 'commodity' | 'nonCommodity'>[] = []
  for (const at of changesIn(pricing, one)) {
    const commodity = partAt(pricing, record.tariffDirection, 'COMMODITY', at)
    const nonCommodity = partAt(pricing, record.tariffDirection, 'NON_COMMODITY', at)
    const covered = isCovered(at, one.covered)
    const last = open.at(-1)
    const isSame = last?.covered === covered && samePart(last.commodity, commodity)
    if (isSame && samePart(last.nonCommodity, nonCommodity)) continue
    open.push({ start: at, covered, commodity, nonCommodity })
  }
  return open.map((segment, index) => {
    const next = open[index + 1]
    return {
      ...segment,
      end: next?.start ?? record.end,
      from: segment.start === record.start ? 0n : energyUntil(record, segment.start),
      to: next === undefined ? record.energy : energyUntil(record, next.start),
    }
  })
}
