import { divideHalfEven } from '../oracle/exact.ts'
import { units } from './exact-decimal.ts'
import type { LedgerLocation, LedgerRecord } from './journal.ts'

/** A part of a record at one price: energy in 1e-6 Wh, cost in 1e-9, price in 1e-9 per kWh. */
type ExpectedPiece = {
  readonly start: number
  readonly end: number
  readonly energy: bigint
  readonly price: bigint
  readonly cost: bigint
}

export type ExpectedCost = { readonly energy: bigint; readonly cost: bigint; readonly pieces: readonly ExpectedPiece[] }

const minuteMs = 60_000
const day = 86_400_000
const wattHours = { W: 1n, KW: 1000n, WH: 1n, KWH: 1000n } as const
const valueDecimals = 9

/** Calculate the energy of a record in 1e-6 Wh. A power is constant over the interval of the record. */
export const energyOf = ({ value, units: unit, start, end }: LedgerRecord): bigint => {
  const amount = units(value, valueDecimals) * wattHours[unit]
  const isPower = unit === 'W' || unit === 'KW'
  return isPower ? divideHalfEven(amount * BigInt(end - start), 3_600_000n * 1000n) : divideHalfEven(amount, 1000n)
}

/**
 * Calculate the share of a whole up to `elapsed` of `length`.
 * Parts are differences of shares, so that their sum is exact.
 */
const shareUpTo = (whole: bigint, elapsed: number, length: number): bigint =>
  divideHalfEven(whole * BigInt(elapsed), BigInt(length))

const localMinute = (at: number, { offsetMinutes }: LedgerLocation): number => {
  const ofDay = (((at + offsetMinutes * minuteMs) % day) + day) % day
  return Math.floor(ofDay / minuteMs)
}

const priceAt = (at: number, location: LedgerLocation): string => {
  const now = localMinute(at, location)
  const band = location.bands.findLast(({ fromMinute }) => fromMinute <= now) ?? location.bands.at(-1)
  if (band === undefined) throw new RangeError(`${location.locationId} has no time bands.`)
  return band.price
}

/** Return the start of the local day of an instant. */
export const startOfDay = (at: number, { offsetMinutes }: LedgerLocation): number => {
  const shifted = at + offsetMinutes * minuteMs
  return Math.floor(shifted / day) * day - offsetMinutes * minuteMs
}

/** Return the instants in a record at which its price changes, with its start and end. */
const edgesOf = ({ start, end }: LedgerRecord, location: LedgerLocation): readonly number[] => {
  const edges = [start]
  for (let from = startOfDay(start, location); from < end; from += day) {
    for (const { fromMinute } of location.bands) {
      const edge = from + fromMinute * minuteMs
      const isChange = priceAt(edge, location) !== priceAt(edge - 1, location)
      if (edge > start && edge < end && isChange) edges.push(edge)
    }
  }
  return [...edges.sort((a, b) => a - b), end]
}

/** Calculate energy and cost of a record and of its pieces. */
export const expectedOf = (record: LedgerRecord, location: LedgerLocation): ExpectedCost => {
  const energy = energyOf(record)
  const { start, end } = record
  const edges = edgesOf(record, location)
  const pieces = edges.slice(1).map((to, index) => {
    const from = edges[index] ?? start
    const share =
      start === end ? energy : shareUpTo(energy, to - start, end - start) - shareUpTo(energy, from - start, end - start)
    const price = units(priceAt(from, location), 9)
    return { start: from, end: to, energy: share, price, cost: divideHalfEven(price * share, 1_000_000_000n) }
  })
  return { energy, cost: pieces.reduce((sum, { cost }) => sum + cost, 0n), pieces }
}

export type DayShare = { readonly day: number; readonly energy: bigint; readonly cost: bigint }

/** Split calculated pieces at the starts of local days. */
export const daysOf = ({ pieces }: ExpectedCost, location: LedgerLocation): readonly DayShare[] =>
  pieces.flatMap(piece => {
    const { start, end, energy, cost } = piece
    if (start === end) return [{ day: startOfDay(start, location), energy, cost }]
    const shares: DayShare[] = []
    for (let from = start; from < end; ) {
      const today = startOfDay(from, location)
      const to = Math.min(end, today + day)
      const part = (whole: bigint) =>
        shareUpTo(whole, to - start, end - start) - shareUpTo(whole, from - start, end - start)
      shares.push({ day: today, energy: part(energy), cost: part(cost) })
      from = to
    }
    return shares
  })
