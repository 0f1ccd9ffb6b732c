import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type MeterReadingRow,
  type Register,
  readingsAround,
  registerKey,
} from '../../../../../services/platform/clickhouse/readings/meter-readings.ts'
import { hexId } from '../../../../suites/cost-rows.ts'
import { base, dayMs, db, hourMs, recordStatements, tenant, useMeterTables } from '../../../../suites/meter-tables.ts'
import { insertReadings, readingOf, registerOf } from '../../../../suites/reading-rows.ts'

useMeterTables()

const readingsIn = (found: Awaited<ReturnType<typeof readingsAround>>): readonly MeterReadingRow[] =>
  [...found.values()].flatMap(({ readings }) => readings)
const around = async (times: readonly number[], register = registerOf(), nearMs = 0) =>
  readingsIn(await readingsAround(db, tenant, [{ register, times, nearMs }]))
const timesOf = (rows: readonly MeterReadingRow[]) => [...new Set(rows.map(({ time }) => time))].sort((a, b) => a - b)

describe('readings', () => {
  it('can be read back, up to the highest register value', async () => {
    const rows = [
      readingOf(base, { value: 10n ** 18n, version: 2n ** 63n, sourceVersion: 5n, recordNumber: 10_000 }),
      readingOf(base + 1, { sessionReferenceId: 'Sitzung ä', recordReferenceId: "r'1", batchId: null }),
    ]
    await insertReadings(rows)
    expect((await around([base, base + 1])).toSorted((a, b) => a.time - b.time)).toEqual(rows)
    expect(await db.rows(`SELECT toString(value) FROM meter_readings WHERE record_number = 10000`)).toEqual([
      ['1000000000000'],
    ])
  })

  it('have the highest version, and belong to the account, mode and register', async () => {
    await insertReadings([
      readingOf(base, { version: 3n, sourceVersion: 3n, value: 7n }),
      readingOf(base, { value: 1n }),
    ])
    await insertReadings([readingOf(base, { version: 2n, sourceVersion: 2n, value: 2n })])
    expect((await around([base])).map(({ value }) => value)).toEqual([7n])
    const strangers = [
      { deviceId: hexId('dev_', 1) },
      { locationId: hexId('loc_', 9) },
      { energyFlowDirection: 'OUTBOUND' as const },
    ]
    for (const change of strangers) expect(await around([base], registerOf(change))).toEqual([])
    for (const other of [
      { ...tenant, liveMode: false },
      { ...tenant, accountId: hexId('acc_', 999) },
    ]) {
      expect((await readingsAround(db, other, [{ register: registerOf(), times: [base], nearMs: 0 }])).size).toBe(0)
    }
  })

  it('are found for each queried time: at it, the nearest before and the nearest after, near or years away', async () => {
    const spots = fc.oneof(
      fc.nat(50).map(index => base + index * hourMs),
      fc.nat(3_000).map(index => base - index * dayMs),
    )
    const requestedTimes = fc.uniqueArray(spots, { minLength: 1, maxLength: 12 })
    let devices = 100
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.uniqueArray(spots, { maxLength: 25 }), requestedTimes), { minLength: 1, maxLength: 4 }),
        async made => {
          const registers = made.map(([stored, times]) => {
            devices += 1
            return {
              register: registerOf({ deviceId: hexId('dev_', devices) }),
              stored,
              times: times.toSorted((a, b) => a - b),
              nearMs: 0,
            }
          })
          await insertReadings(
            registers.flatMap(({ register, stored }) => stored.map(time => readingOf(time, register))),
          )
          const found = await readingsAround(db, tenant, registers)
          for (const { register, stored, times } of registers) {
            const got = timesOf(found.get(registerKey(register))?.readings ?? [])
            for (const time of times) {
              expect(got.includes(time)).toBe(stored.includes(time))
              expect(got.findLast(one => one < time)).toBe(stored.toSorted((a, b) => a - b).findLast(one => one < time))
              expect(got.find(one => one > time)).toBe(stored.toSorted((a, b) => a - b).find(one => one > time))
            }
            expect(got.filter(time => !stored.includes(time))).toEqual([])
          }
        },
      ),
      { numRuns: 8 },
    )
  })

  it('of many registers with long histories are found by the primary key', async () => {
    const registers = Array.from({ length: 450 }, (_, i) => registerOf({ locationId: hexId('loc_', 5_000 + i) }))
    const quarters = Array.from({ length: 100 }, (_, i) => base + i * 6 * hourMs)
    await insertReadings(registers.flatMap(register => quarters.map(time => readingOf(time, register))))
    const { recording, statements } = recordStatements()
    const last = base + 99 * 6 * hourMs
    const found = await readingsAround(
      recording,
      tenant,
      registers.map(register => ({ register, times: [last + hourMs], nearMs: 0 })),
    )
    expect(readingsIn(found).filter(({ time }) => time === last)).toHaveLength(450)
    expect(statements).toHaveLength(2)
    await readingsAround(recording, tenant, [{ register: registers[7] as Register, times: [last + hourMs], nearMs: 0 }])
    const plan = (await db.rows(`EXPLAIN indexes = 1 ${statements[2]}`)).map(line => String(line[0])).join('\n')
    const granules = [...plan.matchAll(/Granules: (\d+)\/(\d+)/g)].map(match => [Number(match[1]), Number(match[2])])
    expect(Math.min(...granules.map(([read = 0]) => read))).toBeLessThanOrEqual(2)
    expect(Math.max(...granules.map(([, all = 0]) => all))).toBeGreaterThan(20)
  })

  it('are found for thousands of times of one register', async () => {
    await insertReadings([readingOf(base - dayMs), readingOf(base + 20_000 * hourMs)])
    const times = Array.from({ length: 10_000 }, (_, i) => base + i * hourMs)
    expect(timesOf(await around(times))).toEqual([base - dayMs, base + 20_000 * hourMs])
  })
})
