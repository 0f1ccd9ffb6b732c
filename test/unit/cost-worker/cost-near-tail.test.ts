import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecordToCost } from '../../../services/cost-worker/record-to-cost.ts'
import {
  costNearTail,
  type LocationChanges,
  type LocationRecostGroup,
  recost,
  withoutMessage,
} from '../../../services/cost-worker/recost/recost.ts'
import { noOptions } from '../../../services/domain/record/record.ts'
import { type AccumulatorTail, isNearTail, tailAfter } from '../../../services/domain/recost/accumulator-tail.ts'
import { recostGroupsOf } from '../../../services/domain/recost/change-set.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { allDay, kwh, pricing, rate, tariff } from '../../support/oracle/tables.ts'

const tenant = { accountId: `acc_${'0'.repeat(23)}1`, liveMode: true }
const prices = {
  snapshot: compileSnapshot(
    pricing('Europe/Berlin', [tariff(allDay([rate(0.1, 20), rate(0.3, 45), rate(0.7)]))]),
    createPricingPool(),
  ),
  accountId: tenant.accountId,
  revision: 1,
  priceRevision: 0n,
  importSourceId: null,
  exportSourceId: null,
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
    locationId: 'loc_1',
    deviceId: `dev_${device}`,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start: base + slot * 900_000,
    end: base + (slot + 1) * 900_000,
    energy,
    confidence,
    ...noOptions,
    recordId: `${(slot * 31 + device * 17) % 97}/${slot}/${device}`,
  },
  part: { ...tenant, batchId: null, receivedAt: base },
  version,
  sourceVersion: version,
  origin: null,
})

const groupOf = (records: readonly RecordToCost[]): LocationChanges => ({
  tenant,
  locationId: 'loc_1',
  direction: 'IMPORT',
  prices,
  records,
  triggers: [],
  hasEstimates: false,
})

/** Stored rows and cached tail of a location, as a worker has them. */
const worker = () => {
  const stored = new Map<string, MeterCostRow>()
  let tail: AccumulatorTail<RecordToCost> | null = null
  const estimated = new Set<string | null>()
  const store = (rows: readonly MeterCostRow[]): void => {
    for (const row of rows) if ((stored.get(row.recordId)?.version ?? 0n) <= row.version) stored.set(row.recordId, row)
  }
  /** Cost records until `maxSteps` rows are stored. An interrupted step discards all other results. */
  const cost = (
    records: readonly RecordToCost[],
    maxSteps = Number.POSITIVE_INFINITY,
  ): 'near' | 'far' | 'interrupted' => {
    for (const { record } of records) if (record.confidence < 1_000_000) estimated.add(record.deviceId)
    const hasEstimates = records.some(({ record }) => estimated.has(record.deviceId))
    const group = { ...groupOf(records), hasEstimates }
    let left = maxSteps
    const isInterrupted = (row: MeterCostRow): boolean => {
      left -= 1
      if (left >= 0) store([row])
      else tail = null
      return left < 0
    }
    if (tail !== null && !hasEstimates && isNearTail(tail, records)) {
      const rows = costNearTail(group, tail)
      let next = rows.next()
      for (; next.done !== true; next = rows.next())
        if (next.value !== null && isInterrupted(next.value)) return 'interrupted'
      tail = next.value
      return 'near'
    }
    const [recostGroup] = recostGroupsOf(group) as [LocationRecostGroup]
    const recosted = recost(
      recostGroup,
      [...stored.values()].filter(({ isDeleted }) => !isDeleted),
    )
    for (const row of recosted.rows) if (row !== null && isInterrupted(row)) return 'interrupted'
    tail = tailAfter(group, recostGroup.interval, recosted, withoutMessage)
    return 'far'
  }
  const restart = (): void => {
    tail = null
  }
  return { cost, restart, stored }
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

/**
 * Steps with register intervals, identified by their start. Only the first `maxRows` rows of a step are stored at
 * first.
 */
const registerSteps = fc.array(
  fc.record({
    intervals: fc.uniqueArray(
      fc.record({
        slot: fc.nat(12),
        device: fc.nat(2),
        energy: fc.integer({ min: 0, max: 9_000 }),
        length: fc.integer({ min: 1, max: 3 }),
        isWithdrawn: fc.boolean(),
      }),
      { selector: ({ slot, device }) => `${slot}/${device}`, minLength: 1, maxLength: 5 },
    ),
    maxRows: fc.nat(8),
    isRestarted: fc.boolean(),
  }),
  { minLength: 2, maxLength: 10 },
)

describe('records near the tail of an accumulator', () => {
  it.each([
    { of: 'few devices over many slots', steps: arrivals(31, 4, { records: 6, steps: 14 }), runs: 300 },
    { of: 'many devices over few slots', steps: arrivals(12, 30, { records: 60, steps: 10 }), runs: 60 },
  ])('cost the same as in order, with late, repeated and corrected records: $of', ({ steps: anySteps, runs }) => {
    let near = 0
    fc.assert(
      fc.property(anySteps, steps => {
        const { cost, stored } = worker()
        const last = new Map<string, RecordToCost>()
        let version = 0n
        for (const step of steps) {
          const records = step.map(({ slot, device, energy }) => recordOf(slot, device, kwh(energy / 1000), ++version))
          for (const entry of records) last.set(entry.record.recordId, entry)
          if (cost(records) === 'near') near += 1
        }
        const inOrder = worker()
        inOrder.cost([...last.values()])
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: runs },
    )
    expect(near).toBeGreaterThan(runs / 3)
  })

  it('cost the same after an interruption at any row, also from registers', () => {
    let interrupted = 0
    fc.assert(
      fc.property(registerSteps, steps => {
        const { cost, restart, stored } = worker()
        const last = new Map<string, RecordToCost>()
        let version = 0n
        for (const { intervals, maxRows, isRestarted } of steps) {
          if (isRestarted) restart()
          const records = intervals.map(({ slot, device, energy, length, isWithdrawn }): RecordToCost => {
            const entry = recordOf(slot, device, isWithdrawn ? 0n : kwh(energy / 1000), ++version)
            const end = entry.record.start + (isWithdrawn ? 3 : length) * 900_000
            return { ...entry, record: { ...entry.record, end }, isWithdrawn }
          })
          for (const entry of records) last.set(entry.record.recordId, entry)
          if (cost(records, maxRows) === 'interrupted') {
            interrupted += 1
            cost(records)
          }
        }
        const inOrder = worker()
        const activeRecords = [...last.values()].filter(({ isWithdrawn }) => isWithdrawn !== true)
        if (activeRecords.length > 0) inOrder.cost(activeRecords)
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(interrupted).toBeGreaterThan(100)
  })

  it('keep the cuts of estimates, with late and corrected records', () => {
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
        const { cost, stored } = worker()
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
          if (cost([long]) === 'near') near += 1
        }
        const inOrder = worker()
        inOrder.cost([...last.values()])
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(near).toBeGreaterThan(500)
  })

  it('do not change records that end in the next month', () => {
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
        const { cost, stored } = worker()
        const last = new Map<string, RecordToCost>()
        for (const [index, { device, slot, length, energy }] of steps.entries()) {
          const { record, ...entry } = recordOf(slot, device, kwh(energy), BigInt(index + 1))
          const start = monthEnd + slot * 900_000
          const one = {
            ...entry,
            record: { ...record, start, end: start + length * 900_000, recordId: `${record.recordId}/${length}` },
          }
          last.set(one.record.recordId, one)
          if (cost([one]) === 'near') near += 1
        }
        const inOrder = worker()
        const inTime = [...last.values()].sort((a, b) => a.record.start - b.record.start)
        for (const one of inTime) inOrder.cost([one])
        inOrder.restart()
        for (const one of inTime) inOrder.cost([one])
        expect(costsOf(stored)).toEqual(costsOf(inOrder.stored))
      }),
      { numRuns: 500 },
    )
    expect(near).toBeGreaterThan(300)
  })

  it('include four records of each device: 100 devices that report the same slots need no read', () => {
    const { cost } = worker()
    let version = 0n
    const all = (slot: number) => Array.from({ length: 100 }, (_, device) => recordOf(slot, device, kwh(1), ++version))
    cost([0, 1, 2].flatMap(all))
    for (const entry of [...all(3), ...all(4)].toSorted((a, b) => (a.record.recordId < b.record.recordId ? 1 : -1))) {
      expect(cost([entry])).toBe('near')
    }
  })

  it('of one device are the last 24: an earlier record needs a read', () => {
    const { cost } = worker()
    cost(Array.from({ length: 30 }, (_, slot) => recordOf(slot, 1, kwh(1), BigInt(slot + 1))))
    // The tail begins after the sixth of 30 records.
    expect(cost([recordOf(6, 1, kwh(2), 100n)])).toBe('near')
    expect(cost([recordOf(5, 1, kwh(2), 101n)])).toBe('far')
  })

  it('do not replace a later stored record with the same id', () => {
    const { cost } = worker()
    cost([recordOf(1, 1, kwh(1), 50n)])
    expect(cost([recordOf(1, 1, kwh(9), 40n)])).toBe('far')
  })
})
