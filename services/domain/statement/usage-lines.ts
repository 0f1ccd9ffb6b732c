import type { UsageCharge } from '../charge/charge.ts'
import { type DayRange, paidDays } from '../charge/charge-days.ts'
import { startOfDayNumber } from '../civil-time.ts'
import { costOf, type Energy, type Price } from '../quantity.ts'
import { evaluate } from '../tariff/evaluate.ts'
import { compileSnapshot } from '../tariff/snapshot.ts'
import { demandGridOf } from './demand-grid.ts'
import { sumEnergy } from './metered-energy.ts'
import { type BilledPeriod, type DraftLine, type LineContext, termsOfCharge } from './statement-line.ts'

/** Price per kWh from an instant on. */
type UsagePrice = { readonly start: number; readonly price: Price }

/** Length of the intervals in which NET_IMPORT of a price per kWh is counted: the default of demand. */
const netMinutes = 60

/** Number of local days that are priced between two pauses. */
const daysPerPause = 31

/**
 * Return the changes of price of a schedule in a range of days, by the evaluator of tariffs: the schedule is priced as
 * a tariff without an end.
 */
function* schedulePrices(
  { metered: { timeZone }, pool, locationId, calendar }: LineContext,
  { id, schedule }: UsageCharge,
  days: DayRange,
): Generator<null, readonly UsagePrice[]> {
  const contract = { contractStart: null, contractEnd: null, closedAt: null }
  const tariff = { id, direction: 'IMPORT', type: 'COMMODITY', marketRates: false, ...contract } as const
  const input = { locationId, currencyCode: '', timeZone, calendar, importMarket: null, exportMarket: null }
  const snapshot = compileSnapshot({ ...input, tariffs: [{ ...tariff, schedule: schedule ?? [] }] }, pool)
  const prices: UsagePrice[] = []
  for (let day = days.startDay; day < days.endDay; day += daysPerPause) {
    const [from, to] = [day, Math.min(day + daysPerPause, days.endDay)].map(one => startOfDayNumber(timeZone, one))
    if (from === undefined || to === undefined || from >= to) continue
    for (const { start, price } of evaluate(snapshot, 'IMPORT', from, to))
      if (prices.length === 0 || prices[prices.length - 1]?.price !== price) prices.push({ start, price: price ?? 0n })
    yield null
  }
  return prices
}

/** Energy at one price between the cuts of a period. */
type PricedEnergy = { readonly price: Price; readonly energies: Energy[] }

/** Return the energy at each price between cuts, by rising price. */
function* energyByPrice(
  context: LineContext,
  charge: UsageCharge,
  paid: DayRange,
  cuts: readonly number[],
): Generator<null, readonly PricedEnergy[]> {
  const { metered } = context
  const cutTimes = cuts.map(day => startOfDayNumber(metered.timeZone, day))
  const [start, end] = [cutTimes[0] as number, cutTimes[cutTimes.length - 1] as number]
  const prices = charge.price === null ? yield* schedulePrices(context, charge, paid) : [{ start, price: charge.price }]
  const grid = charge.counts === 'NET_IMPORT' ? (yield* demandGridOf(metered, netMinutes, paid)).edges : []
  const times = new Set([...cutTimes, ...prices.map(one => one.start), ...grid])
  const edges = [...times].sort((a, b) => a - b)
  const { energies } = yield* sumEnergy(metered, charge, edges)
  const byPrice = new Map<Price, PricedEnergy>()
  let [priceIndex, cut] = [0, 0]
  for (const [index, energy] of energies.entries()) {
    const at = edges[index] as number
    while ((prices[priceIndex + 1]?.start ?? end) <= at) priceIndex += 1
    while ((cutTimes[cut + 1] ?? end) <= at) cut += 1
    const { price } = prices[priceIndex] as UsagePrice
    const found = byPrice.get(price) ?? { price, energies: new Array(cuts.length - 1).fill(0n) }
    byPrice.set(price, found)
    found.energies[cut] = (found.energies[cut] as Energy) + energy
  }
  return [...byPrice.values()].sort((a, b) => (a.price < b.price ? -1 : 1))
}

const sumOf = (energies: readonly Energy[]): Energy => energies.reduce((sum, energy) => sum + energy, 0n)

/**
 * Calculate the lines of a USAGE charge: one for each price that met energy, by rising price, or one of 0 at the lowest
 * price. No line if no day of the period is paid.
 */
export function* usageLines(
  context: LineContext,
  charge: UsageCharge,
  period: BilledPeriod,
): Generator<null, readonly DraftLine[]> {
  const paid = paidDays(charge, period)
  if (paid === null) return []
  const inner = period.cuts.filter(day => day > paid.startDay && day < paid.endDay)
  const cuts = [paid.startDay, ...inner, paid.endDay]
  const found = yield* energyByPrice(context, charge, paid, cuts)
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
