import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type RegisterReading, updateRegister } from '../../../../services/domain/record/register.ts'

const dayMs = 86_400_000

/** A reading that names the batch it came with. */
type Reading = RegisterReading & { readonly batch: number }

const readingOf = (time: number, value: number, arrival: number): Reading => ({
  time,
  value: BigInt(value),
  version: BigInt(arrival),
  sourceVersion: BigInt(arrival),
  batch: arrival,
})

type Interval = { readonly end: number; readonly energy: bigint; readonly version: bigint; readonly closedBy: number }

/** Stored rows: the row of the highest version for each key. */
const createStore = () => {
  const readings = new Map<number, Reading>()
  const intervals = new Map<number, { readonly version: bigint; readonly interval: Interval | null }>()
  const failures = new Map<number, string>()
  const around = (times: readonly number[]): readonly Reading[] => {
    const all = [...readings.values()].sort((a, b) => a.time - b.time)
    const found = times.flatMap(time => [
      all.findLast(one => one.time < time),
      readings.get(time),
      all.find(one => one.time > time),
    ])
    return [...new Set(found.filter(one => one !== undefined))]
  }
  return {
    storedIntervals: () =>
      [...intervals].flatMap(([start, { interval }]) => (interval === null ? [] : [[start, interval] as const])).sort(),
    failed: () => [...failures].sort(([a], [b]) => a - b),
    settle: (arrived: readonly Reading[], isCutOff = false): void => {
      const settled = updateRegister(around(arrived.map(({ time }) => time)), arrived)
      for (const { opening, consumption: metered, version } of settled.intervals) {
        if ((intervals.get(opening.time)?.version ?? -1n) > version) continue
        const interval =
          metered === null
            ? null
            : { end: metered.closing.time, energy: metered.energy, version, closedBy: metered.closing.batch }
        intervals.set(opening.time, { version, interval })
      }
      for (const { closing, refusal } of settled.failures) failures.set(closing.batch, refusal.code)
      if (!isCutOff) for (const reading of settled.readings) readings.set(reading.time, reading)
    },
  }
}

const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The intervals of all readings, the last one of each time, sorted by time. */
const naive = (arrivals: readonly Reading[]) => {
  const all = [...new Map(arrivals.map(one => [one.time, one])).values()].sort((a, b) => a.time - b.time)
  return all
    .flatMap((opening, i) => {
      const closing = all[i + 1]
      if (closing === undefined || closing.value < opening.value || closing.time - opening.time > 366 * dayMs) return []
      const version = higher(opening.version, closing.version)
      return [
        [
          opening.time,
          { end: closing.time, energy: closing.value - opening.value, version, closedBy: closing.batch },
        ] as const,
      ]
    })
    .sort()
}

const arrivals = fc
  .array(fc.tuple(fc.nat(12), fc.nat(20)), { minLength: 1, maxLength: 30 })
  .map(all => all.map(([place, value], arrival) => readingOf(place * 100 * dayMs, value, arrival + 1)))
const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 6 }))

const stepsOf = (all: readonly Reading[], sizes: Iterator<number>): readonly (readonly Reading[])[] => {
  const steps: (readonly Reading[])[] = []
  for (let from = 0; from < all.length; ) {
    const size = sizes.next().value as number
    steps.push(all.slice(from, from + size))
    from += size
  }
  return steps
}

describe('the intervals of a register', () => {
  it('are those of its readings sorted by time, for every order of arrival and every division into steps', () => {
    fc.assert(
      fc.property(arrivals, cuts, (all, sizes) => {
        const store = createStore()
        for (const step of stepsOf(all, sizes)) store.settle(step)
        expect(store.storedIntervals()).toEqual(naive(all))
      }),
    )
  })

  it('fail the same readings however the arrivals are cut', () => {
    fc.assert(
      fc.property(arrivals, cuts, (all, sizes) => {
        const [alone, cut] = [createStore(), createStore()]
        for (const one of all) alone.settle([one])
        for (const step of stepsOf(all, sizes)) cut.settle(step)
        expect(cut.failed()).toEqual(alone.failed())
      }),
    )
  })

  it('end the same if a part is read again in other steps, after a crash before or after the readings were stored', () => {
    fc.assert(
      fc.property(arrivals, cuts, cuts, fc.nat(), fc.boolean(), (all, sizes, others, place, isCutOff) => {
        const [store, undisturbed] = [createStore(), createStore()]
        undisturbed.settle(all)
        const steps = stepsOf(all, sizes)
        const crash = place % steps.length
        for (const [index, step] of steps.slice(0, crash + 1).entries()) store.settle(step, isCutOff && index === crash)
        const from = steps.slice(0, isCutOff ? crash : place % (crash + 1)).flat().length
        for (const step of stepsOf(all.slice(from), others)) store.settle(step)
        expect(store.storedIntervals()).toEqual(undisturbed.storedIntervals())
        const batches = (one: typeof store) => one.failed().map(([batch]) => batch)
        expect(batches(store)).toEqual(batches(undisturbed))
      }),
    )
  })

  it('do not change if a reading arrives again with its own source version, or after a higher one', () => {
    const [opening, closing] = [readingOf(0, 10, 1), readingOf(dayMs, 15, 2)]
    const late = { ...readingOf(dayMs, 99, 9), sourceVersion: 1n }
    const settled = updateRegister([opening, closing], [late])
    expect(settled).toMatchObject({ readings: [], failures: [] })
    expect(settled.intervals.map(({ consumption: metered, version }) => [metered?.energy, version])).toEqual([
      [5n, 2n],
      [undefined, 2n],
    ])
    expect(updateRegister([opening, closing], [closing]).intervals).toEqual(settled.intervals)
  })
})

describe('a pair of readings', () => {
  const codes = (settled: ReturnType<typeof updateRegister<Reading>>) =>
    settled.failures.map(({ closing, refusal }) => [closing.batch, refusal.code])
  const energies = (settled: ReturnType<typeof updateRegister<Reading>>) =>
    settled.intervals.map(({ consumption: metered }) => metered?.energy)

  it('spans at most 366 days', () => {
    const base = readingOf(0, 10, 1)
    expect(codes(updateRegister([base], [readingOf(366 * dayMs, 12, 2)]))).toEqual([])
    const apart = updateRegister([base], [readingOf(366 * dayMs + 1, 12, 2)])
    expect([codes(apart), energies(apart)]).toEqual([[[2, 'interval_too_long']], [undefined, undefined]])
  })

  it('that falls fails the closing reading, which is the base of the next', () => {
    // 100 → 40 falls, 40 → 45 is 5.
    const settled = updateRegister([readingOf(0, 100, 1)], [readingOf(dayMs, 40, 2), readingOf(2 * dayMs, 45, 3)])
    expect([codes(settled), energies(settled)]).toEqual([[[2, 'register_decreased']], [undefined, 5n, undefined]])
  })

  it('keeps its failure where a correction in the same step mends it', () => {
    const settled = updateRegister([], [readingOf(0, 100, 1), readingOf(dayMs, 40, 2), readingOf(0, 30, 3)])
    expect([codes(settled), energies(settled)]).toEqual([[[2, 'register_decreased']], [10n, undefined]])
  })

  it('that falls because the opening reading is corrected fails the closing reading that was there before', () => {
    const settled = updateRegister([readingOf(0, 10, 1), readingOf(dayMs, 20, 2)], [readingOf(0, 25, 3)])
    expect([codes(settled), energies(settled)]).toEqual([[[2, 'register_decreased']], [undefined]])
  })

  it('is split by a late reading between them', () => {
    const settled = updateRegister([readingOf(0, 10, 1), readingOf(2 * dayMs, 20, 2)], [readingOf(dayMs, 13, 3)])
    expect(
      settled.intervals.map(({ opening, consumption: metered, version }) => [
        opening.time,
        metered?.closing.time,
        metered?.energy,
        version,
      ]),
    ).toEqual([
      [0, dayMs, 3n, 3n],
      [dayMs, 2 * dayMs, 7n, 3n],
    ])
  })
})
