import type { UsageCharge } from '../charge/charge.ts'
import { type DayRange, paidDays } from '../charge/charge-days.ts'
import { startOfDayNumber } from '../civil-time.ts'
import { costOf, type Energy, type Price } from '../quantity.ts'
import { evaluate } from '../tariff/evaluate.ts'
import { compileSnapshot } from '../tariff/snapshot.ts'
import { createDemandGrid } from './demand-grid.ts'
import { sumSelection } from './metered-energy.ts'
import { type BilledPeriod, type DraftLine, type LineContext, termsOfCharge } from './statement-line.ts'

/** Price per kWh from an instant on. */
type UsagePrice = { readonly start: number; readonly price: Price }

/** Length of the intervals in which NET_IMPORT of a price per kWh is counted: the default of demand. */
const netMinutes = 60

/** Number of local days that are priced and counted together. */
const daysPerPart = 7

/**
 * Create a function that returns the changes of the price of a charge in an interval. A schedule is priced by the
 * evaluator of tariffs, as a tariff without an end.
 */
const createPrices = (
  { metered: { timeZone }, pool, locationId, calendar }: LineContext,
  { id, price: onlyPrice, schedule }: UsageCharge,
): ((from: number, to: number) => readonly UsagePrice[]) => {
  if (onlyPrice !== null) return start => [{ start, price: onlyPrice }]
  const contract = { contractStart: null, contractEnd: null, closedAt: null }
  const tariff = { id, direction: 'IMPORT', type: 'COMMODITY', marketRates: false, ...contract } as const
  const input = { locationId, currencyCode: '', timeZone, calendar, importMarket: null, exportMarket: null }
  const snapshot = compileSnapshot({ ...input, tariffs: [{ ...tariff, schedule: schedule ?? [] }] }, pool)
  return (from, to) => {
    const prices: UsagePrice[] = []
    for (const { start, price } of evaluate(snapshot, 'IMPORT', from, to))
      if (prices.length === 0 || prices[prices.length - 1]?.price !== price) prices.push({ start, price: price ?? 0n })
    return prices
  }
}

/** Energy at one price between the cuts of a period. */
type PricedEnergy = { readonly price: Price; readonly energies: Energy[] }

/** Return the energy at each price between cuts, by rising price. */
const energyByPrice = (
  context: LineContext,
  charge: UsageCharge,
  paid: DayRange,
  cuts: readonly number[],
): readonly PricedEnergy[] => {
  const { metered } = context
  const { timeZone } = metered
  const pricesIn = createPrices(context, charge)
  const cutTimes = cuts.map(day => startOfDayNumber(timeZone, day))
  const byPrice = new Map<Price, PricedEnergy>()
  let cut = 0
  for (let startDay = paid.startDay; startDay < paid.endDay; startDay += daysPerPart) {
    const days = { startDay, endDay: Math.min(startDay + daysPerPart, paid.endDay) }
    const [start, end] = [startOfDayNumber(timeZone, startDay), startOfDayNumber(timeZone, days.endDay)]
    if (start >= end) continue
    const prices = pricesIn(start, end)
    const grid = charge.counts === 'NET_IMPORT' ? createDemandGrid(timeZone, netMinutes, days).edges : []
    const inner = cutTimes.filter(at => at > start && at < end)
    const edges = [...new Set([start, ...inner, ...prices.map(one => one.start), ...grid, end])].sort((a, b) => a - b)
    const { energies } = sumSelection(metered, charge, edges)
    // An interval of a schedule takes as long as some records.
    metered.work.visited += 4 * edges.length
    let priceIndex = 0
    for (const [index, energy] of energies.entries()) {
      const at = edges[index] as number
      while ((prices[priceIndex + 1]?.start ?? end) <= at) priceIndex += 1
      while ((cutTimes[cut + 1] ?? end) <= at) cut += 1
      const { price } = prices[priceIndex] as UsagePrice
      const found = byPrice.get(price) ?? { price, energies: new Array(cuts.length - 1).fill(0n) }
      byPrice.set(price, found)
      found.energies[cut] = (found.energies[cut] as Energy) + energy
    }
  }
  return [...byPrice.values()].sort((a, b) => (a.price < b.price ? -1 : 1))
}

const sumOf = (energies: readonly Energy[]): Energy => energies.reduce((sum, energy) => sum + energy, 0n)

/**
 * Calculate the lines of a USAGE charge: one for each price that met energy, by rising price, or one of 0 at the lowest
 * price. No line if no day of the period is paid.
 */
export const usageLines = (context: LineContext, charge: UsageCharge, period: BilledPeriod): readonly DraftLine[] => {
  const paid = paidDays(charge, period)
  if (paid === null) return []
  const inner = period.cuts.filter(day => day > paid.startDay && day < paid.endDay)
  const cuts = [paid.startDay, ...inner, paid.endDay]
  const found = energyByPrice(context, charge, paid, cuts)
  const used = found.filter(({ energies }) => sumOf(energies) > 0n)
  return (used.length > 0 ? used : found.slice(0, 1)).map(({ price, energies }): DraftLine => {
    const energyBefore = (day: number): Energy =>
      sumOf(energies.filter((_, index) => (cuts[index + 1] as number) <= day))
    return {
      ...termsOfCharge(charge, 'USAGE', charge.counts === 'EXPORT' ? 'EXPORT' : 'IMPORT'),
      quantity: sumOf(energies),
      unit: 'kWh',
      unitPrice: price,
      amountBefore: day => costOf(energyBefore(day), price),
    }
  })
}
