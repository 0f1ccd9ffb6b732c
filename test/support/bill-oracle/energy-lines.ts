import { bucketOf, type OracleBucket } from '../oracle/buckets.ts'
import type { OraclePiece } from '../oracle/cost.ts'
import type { Direction } from './bill-input.ts'
import { type BillContext, type DayRange, type OpenLine, type PriceDetail, remember } from './bill-line.ts'
import { billedRecords, type Flow, hasPartIn } from './bill-records.ts'
import type { BillCost, BillCosts, GridPiece } from './energy-costs.ts'
import { fromNano } from './fraction.ts'
import { dayStart, type LocalDay } from './local-days.ts'
import type { BillTariff } from './price-parts.ts'

type Selection = (piece: OraclePiece) => boolean
type Part = 'commodity' | 'grid'

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

/** Sum the selected pieces in [from, to), cut as the costs of days are cut. */
const sumPieces = (
  costs: readonly BillCost[],
  isSelected: Selection,
  piecesOf: (cost: BillCost) => readonly OraclePiece[],
  [from, to]: readonly [number, number],
): OracleBucket =>
  bucketOf(
    costs.flatMap(cost =>
      cost.priced === null ? [] : [{ ...cost, priced: { ...cost.priced, pieces: piecesOf(cost).filter(isSelected) } }],
    ),
    ...([from, to] as const),
  )

const wholePieces = (cost: BillCost): readonly OraclePiece[] => cost.priced?.pieces ?? []
const gridPieces = (cost: BillCost): readonly OraclePiece[] => cost.grid

/** Energy and money of one part of the price in [from, to). The commodity part is what the grid part leaves. */
const shareOf = (costs: readonly BillCost[], part: Part, isSelected: Selection, span: readonly [number, number]) => {
  const grid = sumPieces(costs, isSelected, gridPieces, span)
  if (part === 'grid') return { energy: grid.energy, cost: grid.cost }
  const whole = sumPieces(costs, isSelected, wholePieces, span)
  return { energy: whole.energy, cost: whole.cost - grid.cost }
}

/** Return a function that gives the price of a piece in one part. A grid piece has the commodity price of its piece. */
const priceOf = (costs: readonly BillCost[], part: Part): ((piece: OraclePiece | GridPiece) => bigint) => {
  if (part === 'grid') return piece => piece.price
  const gridPrices = new Map<OraclePiece, bigint>()
  for (const { of, price } of costs.flatMap(({ grid }) => grid)) {
    if (!gridPrices.has(of)) gridPrices.set(of, price)
  }
  return piece => {
    const whole = 'of' in piece ? piece.of : piece
    return whole.price - (gridPrices.get(whole) ?? 0n)
  }
}

const detailsOf = (
  costs: readonly BillCost[],
  part: Part,
  isSelected: Selection,
  span: readonly [number, number],
): PriceDetail[] => {
  const price = priceOf(costs, part)
  const pieces = costs.flatMap(part === 'grid' ? gridPieces : wholePieces).filter(isSelected)
  const rising = [...new Set(pieces.map(price))].sort((a, b) => (a < b ? -1 : 1))
  return rising
    .map(each => {
      const share = shareOf(costs, part, piece => isSelected(piece) && price(piece) === each, span)
      return { price: each, energy: share.energy, amount: share.cost }
    })
    .filter(({ energy, amount }) => energy !== 0n || amount !== 0n)
}

/** Return true if a piece has a part in [from, to). A piece without length belongs to the last instant of its record. */
const isPieceIn = (
  { start, end }: OraclePiece,
  record: BillCost['record'],
  [from, to]: readonly [number, number],
): boolean => {
  if (start < end) return start < to && end > from
  const at = record.start < record.end ? Math.min(start, record.end - 1) : start
  return from <= at && at < to
}

const lineNames = { commodity: 'Energy', grid: 'Grid fee', export: 'Export' } as const

/** Return the components of the tariffs that the pieces met, in the order of the contracts. */
const componentsOf = (
  costs: readonly BillCost[],
  tariffs: readonly BillTariff[],
  part: Part,
  direction: Direction,
  span: readonly [number, number],
): string[] => {
  const type = part === 'grid' ? 'NON_COMMODITY' : 'COMMODITY'
  const ofPart = tariffs.filter(tariff => tariff.direction === direction && tariff.type === type)
  const metIds = new Set(
    costs.flatMap(cost =>
      wholePieces(cost)
        .filter(piece => isPieceIn(piece, cost.record, span))
        .map(({ tariffs: ids }) => ids[part === 'grid' ? 1 : 0]),
    ),
  )
  const met = ofPart.filter(({ id }) => metIds.has(id))
  const inForce = ofPart.filter(({ start }) => start < span[1]).slice(-1)
  const components = (met.length > 0 ? met : inForce).map(({ component }) => component)
  return components.length === 0 && part === 'commodity' ? ['energy'] : [...new Set(components)]
}

/** Calculate the ENERGY lines of a direction in a period. No record in the direction: no line. */
const directionLines = (
  context: BillContext,
  bill: BillCosts,
  period: DayRange,
  direction: 'IMPORT' | 'EXPORT',
): OpenLine[] => {
  const [start, end] = [dayStart(context.zone, period.first), dayStart(context.zone, period.end)]
  const flow = direction === 'IMPORT' ? 'INBOUND+IMPORT' : 'OUTBOUND+EXPORT'
  const costs = costsOf(context, bill, flow, [start, end])
  if (costs.length === 0) return []
  const { tariffs } = bill.pricing
  const sign = direction === 'IMPORT' ? 1n : -1n
  const lineOf = (part: Part, component: string): OpenLine => {
    const type = part === 'grid' ? 'NON_COMMODITY' : 'COMMODITY'
    const own = tariffs.filter(
      tariff => tariff.direction === direction && tariff.type === type && tariff.component === component,
    )
    const isSelected: Selection = ({ tariffs: ids }) => own.some(({ id }) => id === ids[part === 'grid' ? 1 : 0])
    const untilDay = (day: LocalDay): bigint =>
      sign * shareOf(costs, part, isSelected, [start, dayStart(context.zone, day)]).cost
    const details = detailsOf(costs, part, isSelected, [start, end]).map(({ price, energy, amount }) => ({
      ...{ price: sign * price, energy, amount: sign * amount },
    }))
    return {
      ...{
        kind: 'ENERGY',
        component,
        direction,
        charge: null,
        tariff: own.length === 1 ? (own[0]?.place ?? null) : null,
      },
      name: direction === 'EXPORT' ? lineNames.export : lineNames[part],
      quantity: fromNano(shareOf(costs, part, isSelected, [start, end]).energy),
      ...{
        unit: 'kWh',
        unitPrice: details.length === 1 ? (details[0]?.price ?? null) : null,
        isTax: false,
        reason: null,
      },
      details: context.input.statement.detail === 'PRICE' ? details : null,
      amountUntil: remember(untilDay),
    }
  }
  return (['commodity', 'grid'] as const).flatMap(part =>
    componentsOf(costs, tariffs, part, direction, [start, end]).map(component => lineOf(part, component)),
  )
}

/** Calculate the ENERGY lines of a period: bought energy, its grid fee, sold energy. */
export const energyLines = (context: BillContext, bill: BillCosts, period: DayRange): OpenLine[] => [
  ...directionLines(context, bill, period, 'IMPORT'),
  ...directionLines(context, bill, period, 'EXPORT'),
]
