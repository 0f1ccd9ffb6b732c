import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { unionOfIntervals } from '../../../../services/domain/interval.ts'
import type { Energy } from '../../../../services/domain/quantity.ts'
import {
  coveredParts,
  createMeteredEnergy,
  energyBetween,
  type MeteredRecord,
  sumEnergy,
} from '../../../../services/domain/statement/metered-energy.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { allDay, pricing, tariff } from '../../../support/oracle/tables.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'

const ownRecords = { timeZone: zoneOf('UTC'), includesDevices: { IMPORT: false, EXPORT: false, LOCAL: false } }
const minuteMs = 60_000
const day = 1440

const record = (start: number, end: number, energy: Energy, more: Partial<MeteredRecord> = {}): MeteredRecord => ({
  locationId: 'loc_1',
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  start: start * minuteMs,
  end: end * minuteMs,
  energy,
  confidence: 1_000_000,
  covered: [],
  sessionReferenceId: null,
  recordReferenceId: null,
  ...more,
})

const anyRecord: fc.Arbitrary<MeteredRecord> = fc
  .record({
    start: fc.integer({ min: 0, max: 3 * day }),
    length: fc.constantFrom(0, 1, 15, 60, 100, day, 5 * day),
    energy: fc.bigInt({ min: 0n, max: 10n ** 13n }),
    cuts: fc.array(fc.integer({ min: 0, max: 5 * day }), { maxLength: 6 }),
  })
  .map(({ start, length, energy, cuts }) => {
    const times = cuts.map(cut => (start + Math.min(cut, length)) * minuteMs).sort((a, b) => a - b)
    const pairs = times.flatMap((from, index) =>
      index % 2 === 0 && times[index + 1] !== undefined ? [{ start: from, end: times[index + 1] as number }] : [],
    )
    return record(start, start + length, energy, { covered: unionOfIntervals(pairs), confidence: 900_000 })
  })

const sum = (energies: readonly Energy[]): Energy => energies.reduce((total, energy) => total + energy, 0n)

describe('energy between edges', () => {
  const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 4 * day }), { minLength: 2, maxLength: 30 })
  const edgesOf = (list: readonly number[]) => list.toSorted((a, b) => a - b).map(minute => minute * minuteMs)
  const importOnly = { counts: 'IMPORT', deviceIds: null } as const

  it('is that of each record, in any order of records', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 20 }), minutes, (records, list) => {
        const edges = edgesOf(list)
        const metered = createMeteredEnergy(records, ownRecords)
        const { energies } = sumEnergy(metered, importOnly, edges)
        for (const [index, energy] of energies.entries()) {
          const [from, to] = [edges[index] as number, edges[index + 1] as number]
          expect(energy).toBe(sum(records.map(one => energyBetween(one, from, to))))
        }
        // Cumulative shares: any edges within two others add up to the energy between those.
        const outer = [edges[0] as number, edges[edges.length - 1] as number]
        expect(sum(energies)).toBe(sum(sumEnergy(metered, importOnly, outer).energies))
      }),
    )
  })

  it('of stored pieces without energy is that of the covered parts of the record', () => {
    const snapshot = compileSnapshot(pricing('UTC', [tariff(allDay(0.25))]), createPricingPool())
    fc.assert(
      fc.property(anyRecord, minutes, (one, list) => {
        fc.pre(one.start < one.end)
        const { pieces, energy } = costRecord(snapshot, one, undefined, one.covered)
        const stored = { ...one, covered: coveredParts(pieces, energy !== one.energy) }
        const edges = edgesOf(list)
        for (const [index, from] of edges.slice(0, -1).entries())
          expect(energyBetween(stored, from, edges[index + 1] as number)).toBe(
            energyBetween(one, from, edges[index + 1] as number),
          )
        expect(energyBetween(one, one.start, one.end)).toBe(energy)
      }),
    )
  })

  it('contains an impulse at its start and not at its end', () => {
    const metered = createMeteredEnergy([record(60, 60, 5n)], ownRecords)
    const edges = [0, 60, 120].map(minute => minute * minuteMs)
    expect(sumEnergy(metered, importOnly, edges).energies).toEqual([0n, 5n])
  })
})
