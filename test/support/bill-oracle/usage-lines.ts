import { localClock } from '../oracle/local-clock.ts'
import type { Interval } from '../oracle/segments.ts'
import type { ChargeBody } from './bill-input.ts'
import { type BillContext, chargeMembers, type DayRange, type OpenLine } from './bill-line.ts'
import { type BillRecord, countedRecords, energyBetween, hasPartIn } from './bill-records.ts'
import { bandAt, edgeSeconds, readSchedule } from './day-bands.ts'
import { fromNano, multiply, nanoOf, roundNano } from './fraction.ts'
import { dayStart, daysOf, instantsOf, type LocalDay, measuringIntervals } from './local-days.ts'

/** Interval of one local day with one price. */
type PriceCell = Interval & { readonly day: LocalDay; readonly price: bigint }

/** Energy of an interval that a charge counts. */
type UsedCell = PriceCell & { readonly energy: bigint }

// USAGE has no interval of its own. The export is subtracted within the default interval of a measurement.
const netMinutes = 60

const sumWithin = (records: readonly BillRecord[], { start, end }: Interval): bigint =>
  records.reduce((sum, one) => (hasPartIn(one, start, end) ? sum + energyBetween(one, start, end) : sum), 0n)

/** Return the price at each instant of the days. */
const pricesOf = ({ calendar, zone }: BillContext, { price, schedule }: ChargeBody) => {
  if (schedule == null) {
    const nano = nanoOf(price ?? 0)
    return { seconds: [], priceAt: () => nano }
  }
  const bands = readSchedule(schedule, rates => nanoOf(rates[0]?.fixed ?? 0))
  return {
    seconds: edgeSeconds(bands.map(band => band.seconds)),
    priceAt: (at: number) => bandAt(bands, localClock(zone, at), calendar).value,
  }
}

/** Cut a local day at each instant at which the price changes, and at the given instants. */
const priceCells = (
  day: LocalDay,
  { start, end }: Interval,
  cuts: ReadonlySet<number>,
  { seconds, priceAt }: { readonly seconds: readonly number[]; readonly priceAt: (at: number) => bigint },
): PriceCell[] => {
  const open: { start: number; price: bigint }[] = []
  for (const at of instantsOf(start, end, seconds)) {
    const price = priceAt(at)
    if (open.at(-1)?.price !== price || cuts.has(at)) open.push({ start: at, price })
  }
  return open.map((cell, index) => ({ ...cell, day, end: open[index + 1]?.start ?? end }))
}

const usedCells = (context: BillContext, charge: ChargeBody, { first, end }: DayRange): UsedCell[] => {
  const { zone, records, include } = context
  const { added, subtracted } = countedRecords(records, include, charge)
  const prices = pricesOf(context, charge)
  return daysOf(first, end).flatMap(day => {
    const whole = { start: dayStart(zone, day), end: dayStart(zone, day + 1) }
    if (whole.start >= whole.end) return []
    const isNet = charge.counts === 'NET_IMPORT'
    const cuts = isNet ? measuringIntervals(zone, whole.start, whole.end, netMinutes) : []
    const instants = new Set(cuts.map(({ start }) => start))
    const seconds = isNet && prices.seconds.length === 0 ? [0] : prices.seconds
    return priceCells(day, whole, instants, { ...prices, seconds }).map(cell => {
      const energy = sumWithin(added, cell) - sumWithin(subtracted, cell)
      return { ...cell, energy: energy > 0n ? energy : 0n }
    })
  })
}

const risingPrices = (cells: readonly UsedCell[]): bigint[] =>
  [...new Set(cells.map(({ price }) => price))].sort((a, b) => (a < b ? -1 : 1))

/**
 * Calculate the lines of a USAGE charge: one for each price that met energy, rising; else one of 0 at the lowest price
 * of its days.
 */
export const usageLines = (
  context: BillContext,
  charge: ChargeBody,
  index: number,
  paid: DayRange,
): readonly OpenLine[] => {
  const cells = usedCells(context, charge, paid)
  const met = risingPrices(cells.filter(({ energy }) => energy > 0n))
  const prices = met.length > 0 ? met : risingPrices(cells).slice(0, 1)
  return prices.map(price => {
    const energyUntil = (day: LocalDay): bigint =>
      cells.reduce((sum, cell) => (cell.price === price && cell.day < day ? sum + cell.energy : sum), 0n)
    return {
      ...chargeMembers(charge, index),
      quantity: fromNano(energyUntil(paid.end)),
      unit: 'kWh',
      unitPrice: price,
      amountUntil: day => roundNano(multiply(fromNano(energyUntil(day)), fromNano(price))),
    }
  })
}

/** Return the imported energy of some days, in 1e-9 kWh. */
export const importedEnergy = ({ zone, records, include }: BillContext, { first, end }: DayRange): bigint => {
  const { added } = countedRecords(records, include, { kind: 'USAGE', name: '' })
  return sumWithin(added, { start: dayStart(zone, first), end: dayStart(zone, end) })
}
