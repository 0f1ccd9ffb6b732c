import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RegisterRule } from '../../../../services/domain/record/reading-rules.ts'
import type { RegisterUpdate, StoredReadings } from '../../../../services/domain/record/register.ts'
import {
  hourMs,
  lifetime,
  type Reading,
  readingOf,
  rolling,
  session,
  updateRegister,
} from '../../../support/registers/readings.ts'
import { oracleIntervals } from '../../../support/registers/register-oracle.ts'

const dayMs = 24 * hourMs
const runs = 2_000

const weak: RegisterRule = { ...lifetime, maxPower: 3_000_000_000_000n }

/** The readings that the store returns around some times: whole within a day of them, else the edges of each gap. */
const around = (stored: readonly Reading[], times: readonly number[], nearMs: number): StoredReadings<Reading> => {
  const all = stored.toSorted((a, b) => a.time - b.time || Number(a.isRestart) - Number(b.isRestart))
  const isNear = ({ time }: Reading): boolean => times.some(at => Math.abs(at - time) <= nearMs)
  const gapsAfter = new Set<Reading>()
  const gaps = Map.groupBy(
    all.filter(reading => !isNear(reading)),
    ({ time }) => times.filter(at => at <= time).length,
  )
  const edges = [...gaps.values()].flatMap(gap => {
    const [first, last] = [gap[0] as Reading, gap.at(-1) as Reading]
    const settled = gap.findLast(({ value, isDoubtful }) => value !== null && !isDoubtful)
    const kept = [...new Set([first, settled ?? first, last])]
    for (const reading of kept.slice(0, -1)) gapsAfter.add(reading)
    return kept
  })
  return { readings: [...all.filter(isNear), ...edges], gapsAfter }
}

type Interval = { readonly end: number; readonly energy: bigint }
type StoredRow = { readonly version: bigint; readonly interval: Interval | null }

/** Stored rows: the row of the highest version for each key. */
const createStore = (rule: RegisterRule | null, messageOf = ({ batch }: Reading): number => batch) => {
  const readings = new Map<string, Reading>()
  const rows = new Map<number, StoredRow>()
  const failures = new Map<number, string>()
  const update = (arrived: readonly Reading[]) => {
    const times = [...new Set(arrived.map(({ time }) => time))]
    const near = around([...readings.values()], times, rule?.kind === 'LIFETIME' ? dayMs : 0)
    const messages = [...Map.groupBy(arrived, messageOf).values()]
    const updated = updateRegister(rule, near, messages)
    if (updated !== null) return updated
    const all = { readings: [...readings.values()], gapsAfter: new Set<Reading>() }
    return updateRegister(rule, all, messages) as RegisterUpdate<Reading>
  }
  return {
    intervals: () =>
      [...rows]
        .flatMap(([start, { interval }]) =>
          interval === null ? [] : [[start, interval.end, interval.energy] as const],
        )
        .sort(([a], [b]) => a - b),
    failed: () => [...failures].sort(([a], [b]) => a - b),
    settle: (arrived: readonly Reading[], isCutOff = false): void => {
      const updated = update(arrived)
      for (const { opening, consumption, end, version } of updated.intervals) {
        const row = rows.get(opening.time)
        if (row !== undefined && row.version > version) continue
        if (row?.interval && consumption === null) expect(end).toBeGreaterThanOrEqual(row.interval.end)
        const interval = consumption === null ? null : { end, energy: consumption.energy }
        rows.set(opening.time, { version, interval })
      }
      for (const { reading, refusal } of updated.failures) failures.set(reading.batch, refusal.code)
      if (isCutOff) return
      for (const reading of updated.readings) {
        const key = `${reading.time}/${reading.isRestart}`
        const stored = readings.get(key)
        if (stored === undefined || stored.version <= reading.version) readings.set(key, reading)
      }
    },
  }
}

const rules = fc.constantFrom(null, lifetime, rolling, session, weak)
const arrivals = fc
  .array(
    fc.record({
      place: fc.nat(30),
      step: fc.constantFrom(hourMs, 4 * hourMs, 4 * hourMs, 40 * dayMs),
      value: fc.oneof(
        { weight: 5, arbitrary: fc.nat(60) },
        { weight: 1, arbitrary: fc.integer({ min: 470, max: 510 }) },
      ),
      kind: fc.constantFrom('rise', 'rise', 'rise', 'value', 'value', 'restart', 'withdrawal', 'withdrawn restart'),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map(all =>
    all.map(({ place, step, value, kind }, index) =>
      readingOf(
        place * step,
        kind.startsWith('withdraw') ? null : kind === 'rise' ? place : value,
        index + 1,
        kind.endsWith('restart'),
      ),
    ),
  )
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
  it('are those of the oracle, for every order of arrival and every division into steps', () => {
    fc.assert(
      fc.property(rules, arrivals, cuts, (rule, all, sizes) => {
        const store = createStore(rule)
        for (const step of stepsOf(all, sizes)) store.settle(step)
        expect(store.intervals()).toEqual(oracleIntervals(rule, all))
      }),
      { numRuns: runs },
    )
  })

  it('fail the same readings however the arrivals are cut', () => {
    fc.assert(
      fc.property(rules, arrivals, cuts, (rule, all, sizes) => {
        const [alone, cut] = [createStore(rule), createStore(rule)]
        for (const one of all) alone.settle([one])
        for (const step of stepsOf(all, sizes)) cut.settle(step)
        expect(cut.failed()).toEqual(alone.failed())
      }),
      { numRuns: runs },
    )
  })

  it('end the same if a part is read again in other steps, after a crash before or after the readings were stored', () => {
    fc.assert(
      fc.property(rules, arrivals, cuts, cuts, fc.nat(), fc.boolean(), (rule, all, sizes, others, place, isCutOff) => {
        const [store, undisturbed] = [createStore(rule), createStore(rule)]
        undisturbed.settle(all)
        const steps = stepsOf(all, sizes)
        const crash = place % steps.length
        for (const [index, step] of steps.slice(0, crash + 1).entries()) store.settle(step, isCutOff && index === crash)
        const from = steps.slice(0, isCutOff ? crash : place % (crash + 1)).flat().length
        for (const step of stepsOf(all.slice(from), others)) store.settle(step)
        expect(store.intervals()).toEqual(undisturbed.intervals())
        const batches = (one: typeof store) => one.failed().map(([batch]) => batch)
        expect(batches(store)).toEqual(batches(undisturbed))
      }),
      { numRuns: runs },
    )
  })
})
