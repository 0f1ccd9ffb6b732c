import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxLeftOut, type RegisterRule } from '../../../../services/domain/record/reading-rules.ts'
import { openRegister } from '../../../../services/domain/record/register.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import {
  hourMs,
  lifetime,
  type Reading,
  readingOf,
  rolling,
  updateRegister,
} from '../../../support/registers/readings.ts'
import { oracleIntervals } from '../../../support/registers/register-oracle.ts'

const secondMs = 1_000

/** Settle all readings in one step. */
const settle = (rule: RegisterRule | null, arrived: readonly Reading[], stored: readonly Reading[] = []) => {
  const updated = updateRegister<Reading>(rule, { readings: stored, gapsAfter: new Set() }, [arrived])
  if (updated === null) throw new Error('No reading is missing here.')
  const intervals = updated.intervals.flatMap(({ opening, consumption }) =>
    consumption === null ? [] : [[opening.time, consumption.closing.time, consumption.energy] as const],
  )
  return { ...updated, intervals }
}

/** Readings of `count` seconds after the first hour, of which the rules leave out each one. */
const leftOut = {
  implausible: (count: number) => Array.from({ length: count }, (_, i) => 50_000 - i),
  dips: (count: number) => Array.from({ length: count }, (_, i) => i % 3),
  'out of range': (count: number) => Array.from({ length: count }, (_, i) => 500 + (i % 7)),
}

const series = (kind: keyof typeof leftOut, count: number, first = 2): readonly Reading[] =>
  leftOut[kind](count).map((value, i) => readingOf(hourMs + i * secondMs, value, first + i))

const cases = [
  [null, 'implausible'],
  [lifetime, 'implausible'],
  [lifetime, 'dips'],
  [rolling, 'out of range'],
] as const

describe('readings in a row that are left out', () => {
  it.each(cases)('are at most so many that the last one is a base again (%o, %s)', (rule, kind) => {
    for (const count of [maxLeftOut - 1, maxLeftOut]) {
      const follower = readingOf(20 * hourMs, 12, count + 2)
      const all = [readingOf(0, 10, 1), ...series(kind, count), follower]
      const { intervals, failures, tail } = settle(rule, all)
      expect(intervals).toEqual(oracleIntervals(rule, all))
      expect(intervals.some(([, end]) => end === follower.time)).toBe(count < maxLeftOut || kind === 'dips')
      expect(failures.length).toBeGreaterThanOrEqual(count)
      expect(tail.length).toBeLessThanOrEqual(maxLeftOut + 2)
    }
  })

  it('give the intervals of the oracle in any order and division', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(
        fc.constantFrom(...cases),
        fc.integer({ min: -2, max: 4 }),
        steps,
        fc.nat(),
        (one, more, sizes, seed) => {
          const [rule, kind] = one
          const count = maxLeftOut + more
          const all = [readingOf(0, 10, 1), ...series(kind, count), readingOf(20 * hourMs, 12, count + 2)]
          const mixed = all.toSorted((a, b) => ((a.batch * 7919 + seed) % 1009) - ((b.batch * 7919 + seed) % 1009))
          const arrived = mixed.map((reading, i) => ({
            ...reading,
            version: BigInt(i + 1),
            sourceVersion: BigInt(i + 1),
          }))
          const rows = new Map<number, readonly [number, number, bigint] | null>()
          let stored: readonly Reading[] = []
          for (let from = 0, i = 0; from < arrived.length; i += 1) {
            const step = arrived.slice(from, from + (sizes[i % sizes.length] as number))
            from += step.length
            const updated = updateRegister<Reading>(rule, { readings: stored, gapsAfter: new Set() }, [step])
            if (updated === null) throw new Error('No reading is missing here.')
            for (const { opening, consumption } of updated.intervals)
              rows.set(
                opening.time,
                consumption === null ? null : [opening.time, consumption.closing.time, consumption.energy],
              )
            const changed = new Map([...stored, ...updated.readings].map(reading => [reading.time, reading]))
            stored = [...changed.values()]
          }
          const intervals = [...rows.values()].filter(row => row !== null).sort((a, b) => a[0] - b[0])
          expect(intervals).toEqual(oracleIntervals(rule, all))
        },
      ),
      { numRuns: 60 },
    )
  }, 60_000)
})

/** Expect that eight times as many readings take at most 40 times as long. Work in proportion to a square takes 64 times as long. */
const expectInProportion = async (few: () => unknown, many: () => unknown, leastMs: number): Promise<void> => {
  const bound = Math.min(1_500, 40 * Math.max(await leastCpuTimeMs(0, few), leastMs))
  expect(await leastCpuTimeMs(bound, many)).toBeLessThan(bound)
}

describe('the time of a step', () => {
  const withdrawals = (count: number): readonly Reading[] =>
    Array.from({ length: count }, (_, i) => readingOf(hourMs + i * secondMs, null, i + 2))
  const sawTeeth = (count: number): readonly Reading[] =>
    Array.from({ length: count }, (_, i) => readingOf(hourMs + i * secondMs, i % 2 === 0 ? 10 : 9, i + 2))
  const falls = (count: number): readonly Reading[] =>
    Array.from({ length: count }, (_, i) => readingOf(hourMs + i * secondMs, 100_000 - i, i + 2))

  const rises = (count: number): readonly Reading[] =>
    Array.from({ length: count }, (_, i) => readingOf(hourMs + i * secondMs, 10 + Math.floor(i / 1_000), i + 2))
  const fromBothEnds = (all: readonly Reading[]): readonly Reading[] =>
    all.map((_, i) => (i % 2 === 0 ? all[i / 2] : all[all.length - (i + 1) / 2]) as Reading)

  it.each([
    ['implausible values', null, (count: number) => series('implausible', count)],
    ['implausible values, lifetime', lifetime, (count: number) => series('implausible', count)],
    ['dips', lifetime, (count: number) => series('dips', count)],
    ['dips, the latest first', lifetime, (count: number) => series('dips', count).toReversed()],
    ['values out of range', rolling, (count: number) => series('out of range', count)],
    ['withdrawals', null, withdrawals],
    ['withdrawals, lifetime', lifetime, withdrawals],
    ['rises and falls in turn', lifetime, sawTeeth],
    ['falls', lifetime, falls],
  ] as const)('grows with the number of readings, not with its square: %s', async (_, rule, readings) => {
    const first = readingOf(0, 10, 1)
    const stored = settle(rule, [first]).readings
    const [few, many] = [readings(4_000), readings(32_000)]
    await expectInProportion(
      () => settle(rule, few, stored),
      () => settle(rule, many, stored),
      4,
    )
  })

  it.each([
    ['in order', null, (count: number) => series('implausible', count)],
    ['from the last to the first', null, (count: number) => withdrawals(count).toReversed()],
    ['rises from the last to the first', null, (count: number) => rises(count).toReversed()],
    ['at both ends in turn', null, (count: number) => fromBothEnds(rises(count))],
    [
      'rises of a lifetime register, from the last to the first',
      lifetime,
      (count: number) => rises(count).toReversed(),
    ],
  ] as const)('grows little with the number of messages of one reading: %s', async (_, rule, readings) => {
    const add = (count: number): void => {
      const register = openRegister<Reading>(rule, { readings: [readingOf(0, 10, 1)], gapsAfter: new Set() })
      for (const reading of readings(count)) register.add([reading])
      register.update()
    }
    await expectInProportion(
      () => add(1_000),
      () => add(8_000),
      10,
    )
  })
})
