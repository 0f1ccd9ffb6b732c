import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costReadings, type NewestReadings, type ReadingToStore } from '../../../services/cost-worker/cost-readings.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import type { MeterReadingRow } from '../../../services/platform/clickhouse/readings/meter-readings.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { base, db, hourMs, tenant, useMeterTables } from '../../suites/meter-tables.ts'
import { insertReadings, readingOf } from '../../suites/reading-rows.ts'
import { oracleIntervals } from '../../support/registers/register-oracle.ts'

useMeterTables()

describe('the readings of a step', () => {
  const assignment = { topic: recordTopic, partition: 0 } as const
  const origin = { assignment, message: { key: '', value: Buffer.alloc(0), headers: {}, offset: 0, timestamp: base } }
  const costOnce = (arrived: readonly ReadingToStore[]) => costReadings(db, arrived, new Map())
  const arriving = (rows: readonly MeterReadingRow[]) => rows.map(row => ({ row, rule: null, origin }))

  it('become records of their intervals, with the part and the references of the closing reading', async () => {
    await insertReadings([readingOf(base, { value: 100n, recordId: hexId('', 1) })])
    const closing = readingOf(base + hourMs, {
      value: 130n,
      recordId: hexId('', 2),
      version: 9n,
      sourceVersion: 9n,
      batchId: hexId('bat_', 2),
      sessionReferenceId: 's',
      recordReferenceId: 'r',
    })
    const { readings, intervals, failures } = await costOnce(arriving([closing]))
    expect([readings, failures]).toEqual([[closing], []])
    const { locationId, deviceId, energyFlowDirection, tariffDirection } = closing
    const shared = { locationId, deviceId, energyFlowDirection, tariffDirection, confidence: 1_000_000 }
    const part = { ...tenant, batchId: hexId('bat_', 2), receivedAt: base }
    const none = { sessionReferenceId: null, recordReferenceId: null }
    expect(intervals).toEqual([
      {
        record: {
          ...shared,
          start: base,
          end: base + hourMs,
          energy: 30n,
          sessionReferenceId: 's',
          recordReferenceId: 'r',
          recordId: hexId('', 1),
          recordNumber: 1,
        },
        part,
        version: 9n,
        sourceVersion: 9n,
        origin,
        isWithdrawn: false,
      },
      {
        record: {
          ...shared,
          ...none,
          start: base + hourMs,
          end: base + hourMs,
          energy: 0n,
          recordId: hexId('', 2),
          recordNumber: 1,
        },
        part,
        version: 9n,
        sourceVersion: 9n,
        origin,
        isWithdrawn: true,
      },
    ])
  })

  it('of several accounts and registers are settled together; a fall is a failure of its batch', async () => {
    const stranger = { ...tenant, liveMode: false }
    await insertReadings([readingOf(base, { value: 100n }), readingOf(base, { ...stranger, value: 10n })])
    const later = { version: 5n, sourceVersion: 5n, batchId: hexId('bat_', 5), recordNumber: 3, recordReferenceId: 'r' }
    const { intervals, failures } = await costOnce(
      arriving([
        readingOf(base + hourMs, { value: 90n, ...later }),
        readingOf(base + hourMs, { ...stranger, value: 15n }),
        readingOf(base, { deviceId: hexId('dev_', 1), value: 1n }),
      ]),
    )
    expect(
      intervals.map(({ part, record, isWithdrawn }) => [part.liveMode, record.deviceId, record.energy, isWithdrawn]),
    ).toEqual([
      [true, null, 0n, true],
      [true, null, 0n, true],
      [false, null, 5n, false],
      [false, null, 0n, true],
      [true, hexId('dev_', 1), 0n, true],
    ])
    const { version: _, sourceVersion: __, ...named } = later
    const error =
      'register_decreased: value is below the reading before it, so no energy counts up to it. Correct it, or send restart: true for a new meter'
    const { locationId, deviceId } = readingOf(base)
    expect(failures).toEqual([{ ...tenant, ...named, locationId, deviceId, foundLater: true, error }])
  })

  it('of nothing ask nothing', async () => {
    expect(await costOnce([])).toEqual({ readings: [], intervals: [], failures: [] })
  })
  it('have the same intervals with and without cached readings, and need the store only for older readings', async () => {
    const statements: string[] = []
    const counting: ClickHouse = {
      ...db,
      stream: sql => {
        statements.push(sql)
        return db.stream(sql)
      },
    }
    const newest: NewestReadings = new Map()
    // Steps of times in hours; the third step has a late one and the last one again.
    const steps = [[1, 2], [3], [2.5, 3], [4, 5], [7, 6]]
    const requestedTimes: number[] = []
    for (const [index, times] of steps.entries()) {
      const rows = times.map((time, position) => {
        const version = BigInt(100 * index + position + 1)
        return readingOf(base + time * hourMs, { value: BigInt(time * 10), version, sourceVersion: version })
      })
      const before = statements.length
      const settled = await costReadings(counting, arriving(rows), newest)
      requestedTimes.push(statements.length - before)
      expect(settled).toEqual(await costOnce(arriving(rows)))
      await insertReadings(settled.readings)
    }
    expect(requestedTimes.map(count => count > 0)).toEqual([true, false, true, false, false])
    expect([...newest.values()].map(({ readings }) => readings.at(-1)?.time)).toEqual([base + 7 * hourMs])
  })

  it('of any register have the intervals of the oracle, with readings that the store finds far away', async () => {
    let registers = 0
    const rule = { kind: 'LIFETIME' as const, digits: 6, maxPower: null }
    const rules = fc.constantFrom(null, rule, { ...rule, digits: null }, { ...rule, kind: 'SESSION' as const })
    const unit = 2_000_000_000_000n
    const reading = fc.record({
      place: fc.nat(24),
      step: fc.constantFrom(hourMs, 5 * hourMs, 30 * 24 * hourMs),
      value: fc.oneof(fc.nat(60), fc.integer({ min: 470, max: 510 })),
      kind: fc.constantFrom('rise', 'rise', 'value', 'restart', 'withdrawal'),
    })
    await fc.assert(
      fc.asyncProperty(rules, fc.array(reading, { minLength: 1, maxLength: 16 }), async (rule, made) => {
        registers += 1
        const deviceId = hexId('dev_', 10_000 + registers)
        const all = made.map(({ place, step, value, kind }, index): MeterReadingRow => {
          const units = kind === 'withdrawal' ? null : BigInt(kind === 'rise' ? place : value) * unit
          const versions = { version: BigInt(index + 1), sourceVersion: BigInt(index + 1) }
          return readingOf(base + place * step, { deviceId, value: units, isRestart: kind === 'restart', ...versions })
        })
        const rows = new Map<number, { readonly version: bigint; readonly form: readonly unknown[] | null }>()
        const newest: NewestReadings = new Map()
        for (let from = 0; from < all.length; from += 3) {
          const arrived = all.slice(from, from + 3).map(row => ({ row, rule, origin }))
          const { readings, intervals } = await costReadings(db, arrived, from % 2 === 0 ? newest : new Map())
          for (const { record, version, isWithdrawn } of intervals) {
            if ((rows.get(record.start)?.version ?? 0n) > version) continue
            const form = isWithdrawn ? null : [record.start, record.end, record.energy]
            rows.set(record.start, { version, form })
          }
          await insertReadings(readings)
          if (from % 2 !== 0) newest.clear()
        }
        const found = [...rows.entries()]
          .sort(([a], [b]) => a - b)
          .flatMap(([, { form }]) => (form === null ? [] : [form]))
        expect(found).toEqual(oracleIntervals(rule, all))
      }),
      { numRuns: 15, endOnFailure: true },
    )
  })
})
