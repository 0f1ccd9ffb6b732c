import type { DemandCharge } from '../charge/charge.ts'
import { type Fraction, fractionOf } from '../fraction.ts'
import { billPower, type EarlierPower, powerMoney } from '../statement/bill-demand.ts'

/**
 * Part of the cost of a measured power, from `from` to `to` kW. The cost is `cost` at `from` and rises by `rate` for
 * each kW. Costs are in the currency. They are estimates in floating point, only used to search and to prove a bound.
 */
export type PowerPiece = { readonly from: number; readonly to: number; readonly cost: number; readonly rate: number }

/** Maximum number of pieces of rounded power. Above it, the pieces are those of power less one rounding step. */
const maxRoundedPieces = 400

const kilowatts = (power: bigint): number => Number(power) / 1e9
const kilowattsOf = ({ dividend, divisor }: Fraction): number => Number(dividend) / Number(divisor) / 1e9

/**
 * Billed power before rounding as a function of measured power z: max(`minPower`, `slope` × z + `offset`), in kW.
 * Source: docs/rules/schedules.md #charges.
 */
const billedPower = (charge: DemandCharge, earlier: EarlierPower) => {
  const monthFloor = kilowatts(charge.monthFloor)
  const rolling = earlier.rolling.map(power => Math.max(kilowattsOf(power), monthFloor))
  const isMean = charge.over === 'ROLLING' && charge.rolling === 'MEAN'
  const slope = isMean ? 1 / (rolling.length + 1) : 1
  const mean = isMean ? rolling.reduce((sum, power) => sum + power, 0) * slope : 0
  const ratchet = charge.ratchet === null ? [] : earlier.ratchet.map(kilowattsOf)
  const share = Number(charge.ratchet?.share ?? 0n) / 1e9
  const floors = [
    slope * monthFloor + mean,
    kilowatts(charge.floor),
    ...ratchet.map(power => power * share),
    ...(charge.over === 'ROLLING' && !isMean ? rolling : []),
  ]
  const above = kilowatts(charge.above)
  return { slope, offset: mean - above, minPower: Math.max(0, Math.max(...floors) - above) }
}

/** Return the money of one unit of time for a power in kW, in the currency. */
const moneyOf = (charge: DemandCharge, power: number): number =>
  Number(powerMoney(charge, BigInt(Math.round(power * 1e9)))) / 1e18

/** Return the powers in kW at which the price of a power changes, with their amounts below them. */
const priceEdges = ({ tiers, steps }: DemandCharge): readonly number[] =>
  tiers === null
    ? (steps ?? []).slice(1).map(({ from }) => kilowatts(from))
    : tiers.flatMap(({ to }) => (to === null ? [] : [kilowatts(to)]))

/** Return the pieces of the money of a billed power between two powers, without rounding of power. */
const exactPieces = (charge: DemandCharge, minPower: number, upTo: number): readonly PowerPiece[] => {
  const edges = [minPower, ...priceEdges(charge).filter(edge => edge > minPower && edge < upTo), upTo]
  return edges.slice(1).map((to, index) => {
    const from = edges[index] as number
    const middle = (from + to) / 2
    if (charge.steps !== null) return { from, to, cost: moneyOf(charge, middle), rate: 0 }
    const tier = charge.tiers?.find(one => one.to === null || kilowatts(one.to) > middle)
    const rate = Number(charge.price ?? tier?.price ?? 0n) / 1e9
    return { from, to, cost: moneyOf(charge, from), rate }
  })
}

/** Return the pieces of the money of a billed power that is rounded to multiples. */
const roundedPieces = (charge: DemandCharge, minPower: number, upTo: number): readonly PowerPiece[] => {
  if (charge.rounding === null) return exactPieces(charge, minPower, upTo)
  const to = kilowatts(charge.rounding.to)
  const { mode } = charge.rounding
  if ((upTo - minPower) / to > maxRoundedPieces) {
    const shifted = exactPieces(charge, Math.max(0, minPower - to), Math.max(0, upTo - to))
    return shifted.map(piece => ({ ...piece, from: piece.from + to, to: piece.to + to }))
  }
  const below = mode === 'UP' ? 1 : mode === 'DOWN' ? 0 : 0.5
  const pieces: PowerPiece[] = []
  for (let count = Math.floor(minPower / to); (count - below) * to < upTo; count += 1) {
    const [from, end] = [Math.max(minPower, (count - below) * to), Math.min(upTo, (count + 1 - below) * to)]
    if (from <= end) pieces.push({ from, to: end, cost: moneyOf(charge, Math.max(0, count) * to), rate: 0 })
  }
  return pieces
}

/**
 * Return the amount of a charge as a function of its measured power, from 0 to `maxPower` kW.
 * The pieces are contiguous and in order. `share` is the paid share of a unit of time.
 */
export const powerPieces = (
  charge: DemandCharge,
  earlier: EarlierPower,
  share: number,
  maxPower: number,
): readonly PowerPiece[] => {
  const { slope, offset, minPower } = billedPower(charge, earlier)
  const upTo = Math.max(minPower, slope * maxPower + offset)
  const pieces = roundedPieces(charge, minPower, upTo)
    .filter(({ from, to }) => to > from)
    .map(piece => ({
      from: Math.max(0, (piece.from - offset) / slope),
      to: (piece.to - offset) / slope,
      cost: piece.cost * share,
      rate: piece.rate * slope * share,
    }))
  const idle = Number(powerMoney(charge, billPower(charge, fractionOf(0n), earlier).power)) / 1e18
  const start = pieces[0]?.from ?? maxPower
  return start > 0 ? [{ from: 0, to: start, cost: idle * share, rate: 0 }, ...pieces] : pieces
}

/** Return whether a cost never falls as the power rises. */
export const isRising = (pieces: readonly PowerPiece[]): boolean =>
  pieces.every(({ cost, rate }, index) => {
    const before = pieces[index - 1]
    const end = before === undefined ? cost : before.cost + before.rate * (before.to - before.from)
    return rate >= 0 && cost >= end - 1e-9 * Math.max(1, Math.abs(end))
  })

/** Return the cost of a power; at an edge the lower one of both pieces. */
export const costAt = (pieces: readonly PowerPiece[], power: number): number => {
  let minPower = Number.POSITIVE_INFINITY
  for (const { from, to, cost, rate } of pieces)
    if (power >= from - 1e-9 && power <= to + 1e-9) minPower = Math.min(minPower, cost + rate * (power - from))
  return minPower === Number.POSITIVE_INFINITY ? (pieces.at(-1)?.cost ?? 0) : minPower
}
