import type { LineDirection } from '../charge/charge.ts'
import { startOfDayNumber, type TimeZone } from '../civil-time.ts'
import type { Energy, Money } from '../quantity.ts'
import type { EnergyFlowDirection } from '../record/record.ts'
import { defaultTariffComponents, type TariffDirection, type TariffType, tariffTypes } from '../tariff/tariff.ts'
import type { BilledRow } from './billed-row.ts'
import {
  addRow,
  type BilledTariff,
  componentKey,
  createEnergyBuckets,
  type EnergyBuckets,
  type RowFlow,
  totalOf,
} from './energy-sums.ts'
import type { BilledPeriod, DraftLine, LineContext } from './statement-line.ts'

/** Energy of a flow that is in no total, over the whole statement. */
export type MemoLine = {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly quantity: Energy
  readonly amount: Money
}

/** Maximum number of prices of a line. */
const maxPrices = 1_000

/**
 * Rows of a statement. `rows` are its records with their pieces, priced by stored or by other tariffs; each row is read
 * once. `tariffs` contain every tariff of the rows, and those of the last contracts that start before the
 * end of each period.
 * `hasDetail`: lines of energy list their prices.
 */
export type RowsInput = {
  readonly tariffs: readonly BilledTariff[]
  /** Rows in any order. */
  readonly rows: Iterable<BilledRow>
  readonly hasDetail: boolean
}

/** Add rows up, in buckets between the cuts of the periods. `onUnpriced` receives each row without a price. */
export const sumRows = (
  { tariffs, rows, hasDetail, metered: { timeZone } }: RowsInput & Pick<LineContext, 'metered'>,
  periods: readonly BilledPeriod[],
  onUnpriced: (row: BilledRow) => void,
): EnergyBuckets => {
  const days = [...new Set(periods.flatMap(({ cuts }) => cuts))]
  const edges = days.map(day => startOfDayNumber(timeZone, day))
  const sums = createEnergyBuckets(edges, tariffs, hasDetail)
  for (const row of rows) {
    addRow(sums, row)
    if (row.cost === null) onUnpriced(row)
  }
  return sums
}

/** Component of a line of energy. It is named after the commodity if it has both types of tariffs. */
type EnergyComponent = { readonly component: string; readonly type: TariffType }

const startOf = ({ contractStart }: BilledTariff): number => contractStart ?? Number.NEGATIVE_INFINITY

/**
 * Return the components of a direction: those of commodity first, then those of fees, in the order of the contracts.
 * A type without priced energy has the component of the last contract that starts before `end`. A direction has a
 * component of commodity in any case.
 */
const componentsOf = (
  { tariffs }: EnergyBuckets,
  direction: LineDirection,
  end: number,
  isMet: (component: string, type: TariffType) => boolean,
): readonly EnergyComponent[] => {
  const inOrder = [...tariffs.values()]
    .filter(tariff => tariff.direction === direction)
    .sort((a, b) => (startOf(a) === startOf(b) ? 0 : startOf(a) - startOf(b)))
  const all = tariffTypes.flatMap((type): readonly EnergyComponent[] => {
    const ofType = inOrder.filter(tariff => tariff.type === type)
    const met = ofType.filter(({ component }) => isMet(component, type))
    if (met.length > 0) return met
    const inForce = ofType.findLast(tariff => startOf(tariff) < end)
    if (inForce !== undefined) return [inForce]
    return type === 'COMMODITY' ? [{ type, component: defaultTariffComponents[type] }] : []
  })
  return all.filter((one, index) => all.findIndex(({ component }) => component === one.component) === index)
}

const nameOf = (direction: LineDirection, type: TariffType): string =>
  direction === 'EXPORT' ? 'Energy export' : type === 'COMMODITY' ? 'Energy' : 'Grid fee'

/**
 * Return the lines of energy of a period: a line per component of bought energy, then of sold energy, whose prices and
 * amounts are negative. A direction without records in the period has no line.
 */
export const energyLines = (sums: EnergyBuckets, timeZone: TimeZone, period: BilledPeriod): readonly DraftLine[] => {
  const bucketOfDay = (day: number): number => sums.edges.indexOf(startOfDayNumber(timeZone, day))
  const [from, to] = [bucketOfDay(period.startDay), bucketOfDay(period.endDay)]
  return (['IMPORT', 'EXPORT'] as const).flatMap(direction => {
    const hasRecords = sums.records[direction].slice(from, to).some(count => count > 0)
    if (!hasRecords) return []
    const sumsOf = (component: string) => sums.components.get(componentKey(direction, component)) ?? { buckets: [] }
    const isMet = (component: string, type: TariffType): boolean =>
      sumsOf(component)
        .buckets.slice(from, to)
        .some(bucket => bucket?.hasType[type])
    const components = componentsOf(sums, direction, sums.edges[to] as number, isMet)
    return components.map(({ component, type }): DraftLine => {
      const own = sumsOf(component)
      const { energy, tariffId, price, prices } = totalOf(own, from, to)
      return {
        kind: 'ENERGY',
        component,
        name: nameOf(direction, type),
        chargeId: null,
        tariffId,
        planId: (tariffId === null ? undefined : sums.tariffs.get(tariffId)?.planId) ?? null,
        direction,
        quantity: energy,
        unit: 'kWh',
        unitPrice: price,
        isTax: false,
        reason: null,
        prices: sums.hasDetail ? prices.slice(0, maxPrices) : null,
        morePrices: sums.hasDetail ? Math.max(0, prices.length - maxPrices) : 0,
        amountBefore: day => (day <= period.startDay ? 0n : totalOf(own, from, bucketOfDay(day)).amount),
      }
    })
  })
}

const memoFlows: readonly (readonly [RowFlow, EnergyFlowDirection, TariffDirection])[] = [
  ['LOCAL', 'INBOUND', 'LOCAL'],
  ['SUPPLIED', 'OUTBOUND', 'IMPORT'],
]

/** Return the energy that is in no total: own generation, and energy that a storage supplies. */
export const memoLines = ({ components, records }: EnergyBuckets): readonly MemoLine[] =>
  memoFlows.flatMap(([flow, energyFlowDirection, tariffDirection]) => {
    if (!records[flow].some(count => count > 0)) return []
    const own = [...components.values()].filter(one => one.flow === flow)
    const totals = own.map(one => totalOf(one, 0, records[flow].length))
    const quantity = totals.reduce((sum, { energy }) => sum + energy, 0n)
    const amount = totals.reduce((sum, total) => sum + total.amount, 0n)
    return { energyFlowDirection, tariffDirection, quantity, amount }
  })
