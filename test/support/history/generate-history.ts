import fc from 'fast-check'
import { monthStart as startOfMonth } from '../oracle/local-clock.ts'
import { zoneOf } from '../oracle/zone.ts'
import { devices, rarelyDropped, sentRecords, sessions } from './generate-records.ts'
import { tariffPlans } from './generate-tariffs.ts'
import type { History, PriceBlock, SentReading, SentRegister } from './history.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * Time zones with a month whose start is close to a clock change. Kathmandu has no clock change, but an unusual offset.
 */
export const settings = [
  ['Europe/Berlin', Date.UTC(2025, 3, 2)],
  ['Europe/Berlin', Date.UTC(2025, 10, 2)],
  ['Europe/London', Date.UTC(2025, 10, 2)],
  ['America/New_York', Date.UTC(2025, 10, 2)],
  ['America/St_Johns', Date.UTC(2025, 10, 2)],
  ['Australia/Lord_Howe', Date.UTC(2025, 3, 2)],
  ['Australia/Lord_Howe', Date.UTC(2025, 9, 2)],
  ['Asia/Kathmandu', Date.UTC(2025, 5, 2)],
] as const

const clockChangeNear = (zone: string, at: number): number =>
  zoneOf(zone).changes.find(change => Math.abs(change - at) < 9 * dayMs) ?? at + 30 * hourMs

const prices = (count: number): fc.Arbitrary<bigint[]> =>
  fc.array(
    fc.integer({ min: -50, max: 400 }).map(mills => BigInt(mills) * 1_000_000n),
    { minLength: count, maxLength: count },
  )

const block = (start: number, stepMs: number, count: number): fc.Arbitrary<PriceBlock> =>
  fc.array(prices(count), { minLength: 1, maxLength: 2 }).map(forms => ({ start, stepMs, forms }))

/** Market prices without a gap: hours close to the start of the month, longer intervals far from it. */
const priceBlocks = (monthStart: number): fc.Arbitrary<PriceBlock[]> =>
  fc.tuple(
    block(monthStart - 98 * dayMs, 24 * dayMs, 4),
    block(monthStart - 2 * dayMs, hourMs, 48),
    block(monthStart, 4 * hourMs, 24),
    block(monthStart + 4 * dayMs, 24 * dayMs, 4),
  )

const kilowattHour = 1_000_000_000n

/**
 * Increments of a register. After a negative increment, the value is lower.
 * Some readings are first sent with wrong values.
 */
const reading = fc.record({
  gap: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 72 }).map(steps => steps * 600) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2, 2, 3, 45).map(days => days * 86_400) },
  ),
  more: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 15_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -8_000, max: -1 }) },
  ),
  errors: fc.oneof(
    { weight: 3, arbitrary: fc.constant<number[]>([]) },
    { weight: 2, arbitrary: fc.array(fc.integer({ min: -20_000, max: 20_000 }), { minLength: 1, maxLength: 2 }) },
  ),
  again: fc.constantFrom(false, false, false, true),
})

const inWattHours = (value: number): bigint => BigInt(value) * 1_000_000n

/** A register with readings before and after the start of the month. `index` gives each register other seconds. */
const register = (monthStart: number, index: number): fc.Arbitrary<SentRegister> =>
  fc
    .record({
      device: devices,
      flow: fc.constantFrom('bought', 'bought', 'bought', 'sold', 'own', 'supplied'),
      session: sessions,
      before: fc.integer({ min: 1, max: 3 }),
      readings: fc.array(rarelyDropped(reading), { minLength: 4, maxLength: 7 }),
    })
    .map(({ before, readings, ...of }) => {
      const allReadings = readings.flat()
      const gaps = allReadings.map(({ gap }) => gap * 1000)
      const lead = gaps.slice(0, before).reduce((sum, gap) => sum + gap, 0) - 300_000
      let time = monthStart - lead + 17_000 + index * 1000
      let value = 100n * kilowattHour
      const sent = allReadings.map(({ gap, more, errors, again }): SentReading => {
        time += gap * 1000
        value += inWattHours(more)
        const values = [...errors.map(error => value + inWattHours(error)), value]
        return { time, values: again ? [...values, value] : values }
      })
      return { name: `meter${index}`, ...of, readings: sent }
    })

/** Registers of different devices or flows. Two registers of one device and flow would be the same register. */
const registers = (monthStart: number): fc.Arbitrary<SentRegister[]> =>
  fc
    .tuple(
      rarelyDropped(register(monthStart, 0)),
      rarelyDropped(register(monthStart, 1)),
      fc.oneof(fc.constant([]), rarelyDropped(register(monthStart, 2))),
    )
    .map(all => {
      const seen = new Map(all.flat().map(one => [`${one.device} ${one.flow}`, one]))
      return [...seen.values()]
    })

const unusualOffset = 7 * hourMs + 654_321

/**
 * Histories of a location around the start of a local month, with late, repeated and corrected data.
 * `sentRecords`, `tariffPlans` and `registers` create the parts.
 * fast-check shrinks a failing history by dropping records and readings.
 */
export const historiesOf = ([zone, within]: (typeof settings)[number]): fc.Arbitrary<History> => {
  const monthStart = startOfMonth(zone, within)
  const clock = clockChangeNear(zone, monthStart)
  const contracts = [
    monthStart,
    clock,
    monthStart - 26 * hourMs,
    monthStart + 5 * hourMs,
    monthStart + unusualOffset,
    monthStart + 30 * dayMs,
  ]
  return fc.constantFrom(...contracts).chain(contract => {
    const days = [-3, -2, -1, 1, 2, 3, 4, 33]
    const anywhere = days.map(day => monthStart + day * dayMs)
    return fc.record({
      zone: fc.constant(zone),
      monthStart: fc.constant(monthStart),
      tariffs: tariffPlans([contract, contract, contract, ...contracts]),
      prices: priceBlocks(monthStart),
      records: sentRecords({ month: monthStart, clock, contract, anywhere }),
      registers: registers(monthStart),
      seed: fc.noShrink(fc.nat()),
    })
  })
}

/** Histories of all settings. */
export const histories: fc.Arbitrary<History> = fc.constantFrom(...settings).chain(historiesOf)
