import { divideHalfEven } from '../oracle/exact.ts'
import type { Direction } from './bill-input.ts'
import { type BillContext, type DayRange, type OpenLine, type PriceDetail, remember } from './bill-line.ts'
import { billedRecords, type Flow, hasPartIn } from './bill-records.ts'
import type { BillCost, BillCosts, GridPiece } from './energy-costs.ts'
import { fromNano } from './fraction.ts'
import { dayStart, type LocalDay } from './local-days.ts'
import type { BillTariff } from './price-parts.ts'

/** Return the costs of the records of a flow that have a part in [from, to). */
export const costsOf = (
  { records, include }: BillContext,
  { costs }: BillCosts,
  flow: Flow,
  [from, to]: readonly [number, number],
): BillCost[] =>
  billedRecords(records, include, flow)
    .filter(one => hasPartIn(one, from, to))
    .map(({ id }) => costs.get(id))
    .filter(cost => cost !== undefined)

/** Part of a piece at one commodity price and one grid price, within some days. `ids`: commodity, grid. */
type EnergyPart = {
  readonly ids: readonly [string | null, string | null]
  readonly prices: readonly [commodity: bigint, grid: bigint]
  readonly amounts: readonly [commodity: bigint, grid: bigint]
  readonly energy: bigint
}

/** Share of an amount in [from, to) of its time. Shares of consecutive times add up. */
const shareOf = (
  amount: bigint,
  { start, end }: { readonly start: number; readonly end: number },
  from: number,
  to: number,
): bigint => {
  const until = (at: number): bigint => divideHalfEven(amount * BigInt(at - start), BigInt(end - start))
  return until(to) - until(from)
}

/**
 * Return the part of a piece in [from, to), or null. Energy and cost are shares of the whole piece, so they add up to
 * its cost. The commodity amount is what the grid amount leaves.
 */
const partWithin = (
  grid: GridPiece,
  { start: recordStart, end: recordEnd }: BillCost['record'],
  [from, to]: readonly [number, number],
): EnergyPart | null => {
  const { of: whole, start, end } = grid
  const terms = { ids: whole.tariffs, prices: [whole.price - grid.price, grid.price] } as const
  if (whole.start === whole.end) {
    // A piece without length belongs to the last instant of its record.
    const at = recordStart < recordEnd ? Math.min(start, recordEnd - 1) : start
    const amounts = [whole.cost - grid.cost, grid.cost] as const
    return from <= at && at < to ? { ...terms, amounts, energy: whole.energy } : null
  }
  const [first, last] = [Math.max(from, start), Math.min(to, end)]
  if (first >= last) return null
  const fee = shareOf(grid.cost, grid, first, last)
  const amounts = [shareOf(whole.cost, whole, first, last) - fee, fee] as const
  return { ...terms, amounts, energy: shareOf(whole.energy, whole, first, last) }
}

const partsWithin = (costs: readonly BillCost[], span: readonly [number, number]): EnergyPart[] =>
  costs.flatMap(({ grid, record }) => grid.flatMap(piece => partWithin(piece, record, span) ?? []))

/** Part of the energy of one line. `ids`: tariffs of the line that the part has. */
type LinePart = {
  readonly ids: readonly string[]
  readonly price: bigint
  readonly energy: bigint
  readonly amount: bigint
}

/** Return what belongs to the tariffs of a line: the commodity amount, the grid amount, or both. */
const ofTariffs = (parts: readonly EnergyPart[], own: ReadonlySet<string>, sign: bigint): LinePart[] =>
  parts.flatMap(({ ids, prices, amounts, energy }) => {
    const places = ([0, 1] as const).filter(place => own.has(ids[place] ?? ''))
    if (places.length === 0) return []
    const sumOf = (values: readonly [bigint, bigint]): bigint => places.reduce((sum, place) => sum + values[place], 0n)
    return {
      ids: places.map(place => ids[place] ?? ''),
      price: sign * sumOf(prices),
      energy,
      amount: sign * sumOf(amounts),
    }
  })

const detailsOf = (parts: readonly LinePart[]): PriceDetail[] =>
  [...new Set(parts.map(({ price }) => price))]
    .sort((a, b) => (a < b ? -1 : 1))
    .map(price => {
      const equal = parts.filter(part => part.price === price)
      const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n)
      return {
        price,
        energy: sumOf(equal.map(({ energy }) => energy)),
        amount: sumOf(equal.map(({ amount }) => amount)),
      }
    })
    .filter(({ energy, amount }) => energy !== 0n || amount !== 0n)

/** Return the only value of a list, or null. */
const onlyOf = <T>(values: readonly T[]): T | null => {
  const [first, ...others] = [...new Set(values)]
  return first === undefined || others.length > 0 ? null : first
}

const lineNames = { COMMODITY: 'Energy', NON_COMMODITY: 'Grid fee', export: 'Energy export' } as const

/**
 * Return the components of one type, in the order of the contracts: those that the parts have, else that of the last
 * tariff that started before the end.
 */
const componentsOf = (
  parts: readonly EnergyPart[],
  tariffs: readonly BillTariff[],
  type: BillTariff['type'],
  end: number,
): string[] => {
  const ofType = tariffs.filter(tariff => tariff.type === type)
  const metIds = new Set(parts.flatMap(({ ids }) => ids))
  const metComponents = new Set(ofType.filter(({ id }) => metIds.has(id)).map(({ component }) => component))
  const met = ofType.filter(({ component }) => metComponents.has(component))
  const inForce = ofType.filter(({ start }) => start < end).slice(-1)
  const components = (met.length > 0 ? met : inForce).map(({ component }) => component)
  return components.length === 0 && type === 'COMMODITY' ? ['energy'] : [...new Set(components)]
}

/** Calculate the ENERGY lines of a direction in a period: one per component. No record in the direction: no line. */
const directionLines = (
  context: BillContext,
  bill: BillCosts,
  period: DayRange,
  direction: Exclude<Direction, 'LOCAL'>,
): OpenLine[] => {
  const span = [dayStart(context.zone, period.first), dayStart(context.zone, period.end)] as const
  const costs = costsOf(context, bill, direction === 'IMPORT' ? 'INBOUND+IMPORT' : 'OUTBOUND+EXPORT', span)
  if (costs.length === 0) return []
  const tariffs = bill.pricing.tariffs.filter(tariff => tariff.direction === direction)
  const all = partsWithin(costs, span)
  const sign = direction === 'IMPORT' ? 1n : -1n
  const lineOf = (component: string, name: string): OpenLine => {
    const own = new Set(tariffs.filter(tariff => tariff.component === component).map(({ id }) => id))
    const parts = ofTariffs(all, own, sign)
    const withEnergy = parts.filter(({ energy }) => energy !== 0n)
    const decisive = withEnergy.length > 0 ? withEnergy : parts
    const tariffId = onlyOf(decisive.flatMap(({ ids }) => ids))
    const untilDay = (day: LocalDay): bigint =>
      ofTariffs(partsWithin(costs, [span[0], dayStart(context.zone, day)]), own, sign).reduce(
        (sum, { amount }) => sum + amount,
        0n,
      )
    return {
      kind: 'ENERGY',
      component,
      name,
      direction,
      charge: null,
      isTax: false,
      reason: null,
      unit: 'kWh',
      tariff: tariffs.find(({ id }) => id === tariffId)?.place ?? null,
      quantity: fromNano(parts.reduce((sum, { energy }) => sum + energy, 0n)),
      unitPrice: onlyOf(decisive.map(({ price }) => price)),
      details: context.input.statement.detail === 'PRICE' ? detailsOf(parts) : null,
      amountUntil: remember(untilDay),
    }
  }
  const names = new Map<string, string>()
  for (const type of ['COMMODITY', 'NON_COMMODITY'] as const) {
    for (const component of componentsOf(all, tariffs, type, span[1]))
      if (!names.has(component)) names.set(component, direction === 'EXPORT' ? lineNames.export : lineNames[type])
  }
  return [...names].map(([component, name]) => lineOf(component, name))
}

/** Calculate the ENERGY lines of a period: bought energy, its grid fee, sold energy. */
export const energyLines = (context: BillContext, bill: BillCosts, period: DayRange): OpenLine[] => [
  ...directionLines(context, bill, period, 'IMPORT'),
  ...directionLines(context, bill, period, 'EXPORT'),
]
