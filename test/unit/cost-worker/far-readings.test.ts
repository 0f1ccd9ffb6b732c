import { describe, expect, it } from 'vitest'
import { costReadings } from '../../../services/cost-worker/cost-readings.ts'
import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import type { MeterReadingRow } from '../../../services/platform/clickhouse/readings/meter-readings.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { base, db, hourMs, useMeterTables } from '../../suites/meter-tables.ts'
import { insertReadings, readingOf } from '../../suites/reading-rows.ts'
import { lifetime, unit } from '../../support/registers/readings.ts'
import { oracleIntervals } from '../../support/registers/register-oracle.ts'

useMeterTables()

const assignment = { topic: recordTopic, partition: 0 } as const
const origin = { assignment, message: { key: '', value: Buffer.alloc(0), headers: {}, offset: 0, timestamp: base } }
const dayMs = 24 * hourMs

let registers = 20_000

/** A register of its own, whose steps never find remembered readings. */
const createRegister = (rule: RegisterRule | null) => {
  registers += 1
  const deviceId = hexId('dev_', registers)
  const all: MeterReadingRow[] = []
  const rows = new Map<number, readonly [number, number, bigint] | null>()
  let reads = { statements: 0, bytes: 0 }
  const counting: ClickHouse = {
    ...db,
    async *stream(sql) {
      reads.statements += 1
      for await (const block of db.stream(sql)) {
        reads.bytes += block.length
        yield block
      }
    },
  }
  return {
    intervals: () => [...rows.values()].filter(row => row !== null).sort((a, b) => a[0] - b[0]),
    expected: () => oracleIntervals(rule, all),
    /** Settle readings of a time and a value in units. Returns how much the step read. */
    settle: async (list: readonly (readonly [time: number, value: number | null])[]) => {
      const arrived = list.map(([time, value], index) => {
        const version = BigInt(all.length + index + 1)
        const energy = value === null ? null : BigInt(value) * unit
        return readingOf(base + time, { deviceId, value: energy, version, sourceVersion: version })
      })
      reads = { statements: 0, bytes: 0 }
      const settled = await costReadings(
        counting,
        arrived.map(row => ({ row, rule, origin })),
        new Map(),
      )
      for (const { record, isWithdrawn } of settled.intervals)
        rows.set(record.start, isWithdrawn ? null : [record.start, record.end, record.energy])
      await insertReadings(settled.readings)
      all.push(...arrived)
      return reads
    },
  }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)

describe('a step whose readings depend on far ones', () => {
  it('finds the base of a fall that is older than all readings of the last 24 hours', async () => {
    const register = createRegister(lifetime)
    await register.settle([[0, 100]])
    await register.settle([[30 * hourMs, 3]])
    await register.settle([[50 * hourMs, 101]])
    expect(register.intervals()).toEqual([[base, base + 50 * hourMs, unit]])
    expect(register.intervals()).toEqual(register.expected())
  })

  it.each([
    ['implausible', null, (i: number) => 50_000 - i],
    ['implausible, of a lifetime register', lifetime, (i: number) => 50_000 - i],
    ['dips', lifetime, (i: number) => i % 3],
  ] as const)('finds the base before many readings that are left out: %s', async (_, rule, valueAt) => {
    const register = createRegister(rule)
    await register.settle(range(5_000).map(i => [i * hourMs, i]))
    const start = 5_000 * hourMs
    await register.settle(range(900).map(i => [start + i * 60_000, valueAt(i)]))
    const { statements, bytes } = await register.settle([[start + 901 * 60_000, 5_001]])
    expect(register.intervals()).toEqual(register.expected())
    expect(statements).toBeLessThanOrEqual(4)
    // About 2,900 of 5,900 readings.
    expect(bytes).toBeLessThan(1_000_000)
    // A late reading before them changes their base.
    await register.settle([[start - 1, 6_000]])
    expect(register.intervals()).toEqual(register.expected())
  })

  it('reads no withdrawn readings', async () => {
    const register = createRegister(null)
    await register.settle([
      [0, 10],
      [hourMs, 11],
    ])
    const many = range(3_000).map(i => 2 * hourMs + i * 60_000)
    await register.settle(many.map((time, i) => [time, 12 + i]))
    await register.settle(many.map(time => [time, null]))
    const { statements, bytes } = await register.settle([[90 * dayMs, 20]])
    expect(register.intervals()).toEqual([
      [base, base + hourMs, unit],
      [base + hourMs, base + 90 * dayMs, 9n * unit],
    ])
    expect(statements).toBeLessThanOrEqual(3)
    expect(bytes).toBeLessThan(5_000)
    await register.settle([[many[1_500] as number, 15]])
    expect(register.intervals()).toEqual(register.expected())
  })
})
