import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecordToCost } from '../../../services/cost-worker/record-to-cost.ts'
import {
  type AccumulatorTail,
  costNearTail,
  isNearTail,
  tailAfter,
} from '../../../services/cost-worker/recost/accumulator-tail.ts'
import { type ChangeSet, type RecostGroup, recostGroupsOf } from '../../../services/cost-worker/recost/change-set.ts'
import { recost } from '../../../services/cost-worker/recost/recost.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { allDay, kwh, pricing, rate, tariff } from '../../support/oracle/tables.ts'

const tenant = { accountId: `acc_${'0'.repeat(23)}1`, liveMode: true }
const cachedPricing = {
  snapshot: compileSnapshot(
    pricing('Europe/Berlin', [tariff(allDay([rate(0.1, 20), rate(0.3, 45), rate(0.7)]))]),
    createPricingPool(),
  ),
  ...{ accountId: tenant.accountId, revision: 1, priceRevision: 0n, importSourceId: null, exportSourceId: null },
}
const base = Date.parse('2026-03-10T00:00:00Z')

/** A quarter hour of a device; `slot` counts from the base. */
const recordOf = (
  slot: number,
  device: number,
  energy: bigint,
  version: bigint,
  confidence = 1_000_000,
): RecordToCost => ({
  record: {
    ...{ locationId: 'loc_1', deviceId: `dev_${device}`, energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' },
    ...{ start: base + slot * 900_000, end: base + (slot + 1) * 900_000, energy, confidence },
    ...{
      sessionReferenceId: null,
      recordReferenceId: null,
      recordId: `${(slot * 31 + device * 17) % 97}/${slot}/${device}`,
    },
  },
  part: { ...tenant, batchId: null, receivedAt: base },
  version,
  sourceVersion: version,
  origin: null,
})

const groupOf = (records: readonly RecordToCost[]): ChangeSet => ({
  ...{ tenant, locationId: 'loc_1', direction: 'IMPORT', cachedPricing, records, triggers: [], hasEstimates: false },
})

/** What is stored of a location, and what is held of it: the way of a worker with all its reads at hand. */
const worker = () => {
  const stored = new Map<string, MeterCostRow>()
  let count: AccumulatorTail | null = null
  const estimated = new Set<string | null>()
  const keep = (rows: readonly MeterCostRow[]): void => {
    for (const row of rows) if ((stored.get(row.recordId)?.version ?? 0n) <= row.version) stored.set(row.recordId, row)
  }
  /** Settle as far as so many rows; broken off, nothing else is kept. */
  const settle = (records: readonly RecordToCost[], maxSteps = Number.POSITIVE_INFINITY): 'near' | 'far' | 'broken' => {
    for (const { record } of records) if (record.confidence < 1_000_000) estimated.add(record.deviceId)
    const hasEstimates = records.some(({ record }) => estimated.has(record.deviceId))
    const group = { ...groupOf(records), hasEstimates }
    let left = maxSteps
    const isBroken = (row: MeterCostRow): boolean => {
      left -= 1
      if (left >= 0) keep([row])
      else count = null
      return left < 0
    }
    if (count !== null && !hasEstimates && isNearTail(count, records)) {
      const rows = costNearTail(group, records, count)
      let next = rows.next()
      for (; next.done !== true; next = rows.next()) if (next.value !== null && isBroken(next.value)) return 'broken'
      count = next.value
      return 'near'
    }
    const [recostGroup] = recostGroupsOf(group) as [RecostGroup]
    const work = recost(
      recostGroup,
      [...stored.values()].filter(({ isDeleted }) => !isDeleted),
    )
    let step = work.next()
    while (step.done !== true) step = work.next()
    const recosted = step.value
    for (const row of recosted.rows) if (row !== null && isBroken(row)) return 'broken'
    count = tailAfter(group, recostGroup.interval, recosted)
    return 'far'
  }
  const restart = (): void => {
    count = null
  }
  return { settle, restart, stored }
}

const costsOf = (stored: ReadonlyMap<string, MeterCostRow>) =>
  [...stored.values()]
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ recordId, energy, cost }) => [recordId, energy, cost])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))

const arrivals = (slots: number, devices: number, maxSteps: { readonly records: number; readonly steps: number }) =>
  fc.array(
    fc.uniqueArray(
      fc.record({ slot: fc.nat(slots - 1), device: fc.nat(devices - 1), energy: fc.integer({ min: 0, max: 5_000 }) }),
      {
        selector: ({ slot, device }) => `${slot}/${device}`,
        minLength: 1,
        maxLength: maxSteps.records,
      },
    ),
    { minLength: 2, maxLength: maxSteps.steps },
  )

/** Intervals of registers, each known by its start, in steps of which so many rows are stored at first. */
const shown = fc.array(
  fc.record({
    intervals: fc.uniqueArray(
      fc.record({
        ...{ slot: fc.nat(12), device: fc.nat(2), energy: fc.integer({ min: 0, max: 9_000 }) },
        ...{ length: fc.integer({ min: 1, max: 3 }), isWithdrawn: fc.boolean() },
      }),
      { selector: ({ slot, device }) => `${slot}/${device}`, minLength: 1, maxLength: 5 },
    ),
    most: fc.nat(8),
    isRestarted: fc.boolean(),
  }),
  { minLength: 2, maxLength: 10 },
)

describe('records near the end of an accumulator', () => {
  it.each([
    { of: 'few devices over many slots', steps: arrivals(31, 4, { records: 6, steps: 14 }), runs: 300 },
    { of: 'many devices over few slots', steps: arrivals(12, 30, { records: 60, steps: 10 }), runs: 60 },
  ])(
    'and those behind them cost what they cost in order, whatever came late, twice or corrected: $of',
    ({ steps: anySteps, runs }) => {
      let near = 0
      fc.assert(
        fc.property(anySteps, steps => {
          const { settle, stored } = worker()
          const last = new Map<string, RecordToCost>()
          let version = 0n
          for (const step of steps) {
            const records = step.map(({ slot, device, energy }) =>
              recordOf(slot, device, kwh(energy / 1000), ++version),
            )
            for (const entry of records) last.set(entry.record.recordId, entry)
            if (settle(records) === 'near') near += 1
          }
          const inOrder = worker()
          inOrder.settle([...last.values()])
          expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
        }),
        { numRuns: runs },
      )
      expect(near).toBeGreaterThan(runs / 3)
    },
  )

  it('cost the same where a step is broken off after any of its rows and begun again, of registers too', () => {
    let broken = 0
    fc.assert(
      fc.property(shown, steps => {
        const { settle, restart, stored } = worker()
        const last = new Map<string, RecordToCost>()
        let version = 0n
        for (const { intervals, most, isRestarted } of steps) {
          if (isRestarted) restart()
          const records = intervals.map(({ slot, device, energy, length, isWithdrawn }): RecordToCost => {
            const entry = recordOf(slot, device, isWithdrawn ? 0n : kwh(energy / 1000), ++version)
            const end = entry.record.start + (isWithdrawn ? 3 : length) * 900_000
            return { ...entry, record: { ...entry.record, end }, isWithdrawn }
          })
          for (const entry of records) last.set(entry.record.recordId, entry)
          if (settle(records, most) === 'broken') {
            broken += 1
            settle(records)
          }
        }
        const inOrder = worker()
        const activeRecords = [...last.values()].filter(({ isWithdrawn }) => isWithdrawn !== true)
        if (activeRecords.length > 0) inOrder.settle(activeRecords)
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(broken).toBeGreaterThan(100)
  })

  it('leave estimates cut, whatever comes before them late or corrected back', () => {
    const anyStep = fc.record({
      device: fc.nat(2),
      slot: fc.nat(20),
      length: fc.integer({ min: 1, max: 8 }),
      kilowattHours: fc.constantFrom(0, 1, 2, 9),
      isEstimate: fc.boolean(),
    })
    let near = 0
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 3, maxLength: 12 }), steps => {
        const { settle, stored } = worker()
        const last = new Map<string, RecordToCost>()
        for (const [index, { device, slot, length, kilowattHours, isEstimate }] of steps.entries()) {
          // The third device has no estimates, so that its records are costed from the tail.
          const confidence = isEstimate && device < 2 ? 500_000 : 1_000_000
          const { record, ...entry } = recordOf(slot, device, kwh(kilowattHours), BigInt(index + 1), confidence)
          const long = {
            ...entry,
            record: { ...record, end: record.start + length * 900_000, recordId: `${record.recordId}/${length}` },
          }
          last.set(long.record.recordId, long)
          if (settle([long]) === 'near') near += 1
        }
        const inOrder = worker()
        inOrder.settle([...last.values()])
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(near).toBeGreaterThan(500)
  })

  it('leave records alone that reach into the next month, whatever comes before them late', () => {
    // April begins in Berlin at 22:00Z, 16 slots after this.
    const monthEnd = Date.parse('2026-03-31T18:00:00Z')
    const anyStep = fc.record({
      device: fc.nat(2),
      slot: fc.nat(40),
      length: fc.integer({ min: 1, max: 12 }),
      energy: fc.nat(30),
    })
    let near = 0
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 4, maxLength: 12 }), steps => {
        const { settle, stored } = worker()
        const last = new Map<string, RecordToCost>()
        for (const [index, { device, slot, length, energy }] of steps.entries()) {
          const { record, ...entry } = recordOf(slot, device, kwh(energy), BigInt(index + 1))
          const start = monthEnd + slot * 900_000
          const one = {
            ...entry,
            record: { ...record, start, end: start + length * 900_000, recordId: `${record.recordId}/${length}` },
          }
          last.set(one.record.recordId, one)
          if (settle([one]) === 'near') near += 1
        }
        const inOrder = worker()
        const inTime = [...last.values()].sort((a, b) => a.record.start - b.record.start)
        for (const one of inTime) inOrder.settle([one])
        inOrder.restart()
        for (const one of inTime) inOrder.settle([one])
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(near).toBeGreaterThan(300)
  })

  it('are four of each device: of a hundred that tell of the same slots in any order nothing is read again', () => {
    const { settle } = worker()
    let version = 0n
    const all = (slot: number) => Array.from({ length: 100 }, (_, device) => recordOf(slot, device, kwh(1), ++version))
    settle([0, 1, 2].flatMap(all))
    for (const entry of [...all(3), ...all(4)].toSorted((a, b) => (a.record.recordId < b.record.recordId ? 1 : -1))) {
      expect(settle([entry])).toBe('near')
    }
  })

  it('of one device are the last 24: the place before them is read again', () => {
    const { settle } = worker()
    settle(Array.from({ length: 30 }, (_, slot) => recordOf(slot, 1, kwh(1), BigInt(slot + 1))))
    // Behind the sixth of thirty begins the tail; the seventh is its first.
    expect(settle([recordOf(6, 1, kwh(2), 100n)])).toBe('near')
    expect(settle([recordOf(5, 1, kwh(2), 101n)])).toBe('far')
  })

  it('yield to a stored one of the same identity that came later', () => {
    const { settle } = worker()
    settle([recordOf(1, 1, kwh(1), 50n)])
    expect(settle([recordOf(1, 1, kwh(9), 40n)])).toBe('far')
  })
})
