import { describe, expect, it } from 'vitest'
import type { RegisterRule } from '../../../../services/domain/record/reading-rules.ts'
import { openRegister } from '../../../../services/domain/record/register.ts'
import {
  hourMs,
  lifetime,
  type Reading,
  readingOf,
  session,
  unit,
  updateRegister,
} from '../../../support/registers/readings.ts'

const dayMs = 24 * hourMs

/** Update a register that has no stored readings. */
const updateAll = (rule: RegisterRule | null, arrived: readonly Reading[], stored: readonly Reading[] = []) => {
  const updated = updateRegister<Reading>(
    rule,
    { readings: stored, gapsAfter: new Set() },
    arrived.map(one => [one]),
  )
  if (updated === null) throw new Error('No reading is missing here.')
  const intervals = updated.intervals.map(({ opening, consumption, version }) => ({
    start: opening.time,
    end: consumption?.closing.time,
    energy: consumption?.energy,
    version,
  }))
  return {
    updated,
    intervals,
    energies: intervals.map(({ energy }) => energy),
    codes: updated.failures.map(({ reading, refusal }) => [reading.batch, refusal.code]),
    total: intervals.reduce((sum, { energy }) => sum + (energy ?? 0n), 0n),
  }
}

/** Readings in 1e-6 Wh that arrive in the order of the list; the values are kWh, the times hours. */
const inKilowattHours = (list: readonly (readonly [hour: number, value: number | null, isRestart?: boolean])[]) =>
  list.map(([hour, value, isRestart], index) => ({
    ...readingOf(hour * hourMs, null, index + 1, isRestart),
    value: value === null ? null : BigInt(Math.round(value * 1e3)) * 1_000_000n,
  }))

const kilowattHours = (value: number): bigint => BigInt(Math.round(value * 1e3)) * 1_000_000n

describe('a pair of readings', () => {
  it('spans at most 366 days', () => {
    const base = readingOf(0, 10, 1)
    expect(updateAll(null, [readingOf(366 * dayMs, 12, 2)], [base]).codes).toEqual([])
    const { codes, energies } = updateAll(null, [readingOf(366 * dayMs + 1, 12, 2)], [base])
    expect([codes, energies]).toEqual([[[2, 'interval_too_long']], [undefined, undefined]])
  })

  it('that falls fails the closing reading, which is the base of the next', () => {
    // 100 → 40 falls, 40 → 45 is 5.
    const readings = [readingOf(dayMs, 40, 2), readingOf(2 * dayMs, 45, 3)]
    const { codes, energies } = updateAll(null, readings, [readingOf(0, 100, 1)])
    expect([codes, energies]).toEqual([[[2, 'register_decreased']], [undefined, 5n * unit, undefined]])
  })

  it('keeps its failure if a correction in the same step mends the interval', () => {
    const { codes, energies } = updateAll(null, [readingOf(0, 100, 1), readingOf(dayMs, 40, 2), readingOf(0, 30, 3)])
    expect([codes, energies]).toEqual([[[2, 'register_decreased']], [10n * unit, undefined]])
  })

  it('that falls because the opening reading is corrected fails the closing reading that was there before', () => {
    const stored = [readingOf(0, 10, 1), readingOf(dayMs, 20, 2)]
    const { codes, energies } = updateAll(null, [readingOf(0, 25, 3)], stored)
    expect([codes, energies]).toEqual([[[2, 'register_decreased']], [undefined]])
  })

  it('is split by a late reading between them', () => {
    const stored = [readingOf(0, 10, 1), readingOf(2 * dayMs, 20, 2)]
    expect(updateAll(null, [readingOf(dayMs, 13, 3)], stored).intervals).toEqual([
      { start: 0, end: dayMs, energy: 3n * unit, version: 3n },
      { start: dayMs, end: 2 * dayMs, energy: 7n * unit, version: 3n },
    ])
  })

  it('does not change if a reading arrives again with its own source version, or after a higher one', () => {
    const [opening, closing] = [readingOf(0, 10, 1), readingOf(dayMs, 15, 2)]
    const late = { ...readingOf(dayMs, 99, 9), sourceVersion: 1n }
    const settled = updateAll(null, [late], [opening, closing])
    expect(settled.updated).toMatchObject({ readings: [], failures: [] })
    expect(settled.intervals.map(({ energy, version }) => [energy, version])).toEqual([
      [5n * unit, 2n],
      [undefined, 2n],
    ])
    expect(updateAll(null, [closing], [opening, closing]).intervals).toEqual(settled.intervals)
  })
})

describe('the kinds of registers', () => {
  it.each([
    // Values of a lifetime register at start and stop, and of a session between: 400 Wh.
    [
      lifetime,
      [
        [0, 4076.4],
        [0.25, 0.104],
        [0.5, 0.228],
        [0.75, 0.353],
        [1, 4076.8],
      ],
      0.4,
      [2, 3, 4],
      'register_dip',
    ],
    // A late start value: 4 + 0.0041 + 3.9959 = 8 kWh.
    [
      lifetime,
      [
        [0, 1],
        [1, 5],
        [1.02, 5.0041],
        [2, 5],
        [3, 9],
      ],
      8,
      [4],
      'register_dip',
    ],
    // A zero for a moment, without knowledge of the register: 13.4 MWh in an hour are not counted.
    [
      null,
      [
        [0, 13400],
        [1, 0],
        [2, 13400.7],
        [3, 13400.8],
      ],
      0.1,
      [3],
      'implausible_energy',
    ],
    [
      lifetime,
      [
        [0, 13400],
        [1, 0],
        [2, 13400.7],
        [3, 13400.8],
      ],
      0.8,
      [2],
      'register_dip',
    ],
    // A reading of another meter: 11,900 kWh in half an hour are 23.8 MW.
    [
      null,
      [
        [0, 100],
        [0.5, 12000],
        [1, 101],
      ],
      1,
      [2],
      'implausible_energy',
    ],
    [
      { ...lifetime, maxPower: 1_000_000_000_000n },
      [
        [0, 100],
        [4, 12000],
        [8, 101],
      ],
      1,
      [2],
      'implausible_energy',
    ],
    // Five digits: 2.6 + (100,000 − 99,999 + 1.2 = 2.2) = 4.8 kWh.
    [
      { ...lifetime, digits: 5 },
      [
        [0, 99996.4],
        [1, 99999],
        [2, 1.2],
      ],
      4.8,
      [],
      '',
    ],
    [
      { ...lifetime, digits: 5 },
      [
        [0, 1],
        [1, 100000],
        [2, 2],
      ],
      1,
      [2],
      'value_out_of_range',
    ],
    // A fall in the upper half is no roll-over.
    [
      { ...lifetime, digits: 5 },
      [
        [0, 99996],
        [1, 60000],
        [2, 60001],
      ],
      1,
      [2],
      'register_decreased',
    ],
    [
      session,
      [
        [0, 5],
        [1, 7],
        [2, 0],
        [3, 1.5],
      ],
      3.5,
      [],
      '',
    ],
    // An exchange at one instant: 45.6 + 1 = 46.6 kWh.
    [
      null,
      [
        [0, 12300],
        [1, 12345.6],
        [1, 0.2, true],
        [2, 1.2],
      ],
      46.6,
      [],
      '',
    ],
    [
      lifetime,
      [
        [0, 12300],
        [1, 12345.6],
        [1, 0.2, true],
        [2, 1.2],
      ],
      46.6,
      [],
      '',
    ],
    // A withdrawn reading of another meter.
    [
      lifetime,
      [
        [0, 100],
        [12, 12000],
        [24, 101],
        [12, null],
      ],
      1,
      [3],
      'register_decreased',
    ],
  ] as const)('%o: %o give %f kWh', (rule, list, total, batches, code) => {
    const result = updateAll(rule, inKilowattHours(list))
    expect(result.total).toBe(kilowattHours(total))
    expect(result.codes.filter(([, failed]) => failed === code).map(([batch]) => batch)).toEqual(batches)
  })

  it('count a rise of exactly the maximum power, and no more', () => {
    const rule = { ...lifetime, maxPower: 2_000_000_000n }
    expect(
      updateAll(
        rule,
        inKilowattHours([
          [0, 0],
          [1, 2],
        ]),
      ).codes,
    ).toEqual([])
    expect(
      updateAll(
        rule,
        inKilowattHours([
          [0, 0],
          [1, 2.001],
        ]),
      ).codes,
    ).toEqual([[2, 'implausible_energy']])
  })

  it('take a reading as a dip only if a higher one comes within 24 hours', () => {
    const codeOf = (hours: number) =>
      updateAll(
        lifetime,
        inKilowattHours([
          [0, 10],
          [1, 5],
          [1 + hours, 10],
        ]),
      ).codes
    expect(codeOf(24)).toEqual([[2, 'register_dip']])
    expect(codeOf(24.001)).toEqual([[2, 'register_decreased']])
  })

  it('need stored readings that are missing', () => {
    const [first, last] = [readingOf(0, 10, 1), readingOf(2 * dayMs, 5, 2)]
    const gap = { readings: [first, last], gapsAfter: new Set([first]) }
    expect(openRegister(lifetime, gap).add([readingOf(dayMs, 1, 3)])).toEqual(new Set([0]))
  })
})
