import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LaneReading, type NewestReadings, settleReadings } from '../../services/cost-worker/settle-readings.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import {
  encodeMeterReadings,
  type MeterReadingRow,
  meterReadingColumns,
  type Register,
  readingsAround,
  registerKey,
} from '../../services/platform/clickhouse/meter-readings.ts'
import { hexId } from '../suites/cost-rows.ts'
import { base, day, db, hour, location, tenant, useMeterTables } from '../suites/meter-tables.ts'

useMeterTables()

const insert = (rows: readonly MeterReadingRow[]): Promise<void> =>
  db.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes: encodeMeterReadings(rows) })

const registerOf = (change: Partial<Register> = {}): Register => ({
  ...tenant,
  locationId: location,
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  ...change,
})

const readingOf = (time: number, change: Partial<MeterReadingRow> = {}): MeterReadingRow => ({
  ...registerOf(),
  time,
  value: BigInt(time),
  recordId: hexId('', time),
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: hexId('bat_', 1),
  recordNumber: 1,
  version: 1n,
  sourceVersion: 1n,
  receivedAt: base,
  ...change,
})

const around = (times: readonly number[], register = registerOf()) => readingsAround(db, tenant, [{ register, times }])
const timesOf = (rows: readonly MeterReadingRow[]) => [...new Set(rows.map(({ time }) => time))].sort((a, b) => a - b)

describe('readings', () => {
  it('come back as they were written, up to the highest register', async () => {
    const rows = [
      readingOf(base, { value: 10n ** 18n, version: 2n ** 63n, sourceVersion: 5n, recordNumber: 10_000 }),
      readingOf(base + 1, { sessionReferenceId: 'Sitzung ä', recordReferenceId: "r'1", batchId: null }),
    ]
    await insert(rows)
    expect((await around([base, base + 1])).toSorted((a, b) => a.time - b.time)).toEqual(rows)
    expect(await db.rows(`SELECT toString(value) FROM meter_readings WHERE record_number = 10000`)).toEqual([['1000000000000']])
  })

  it('are the ones of the highest version, and of the own account, mode and register alone', async () => {
    await insert([readingOf(base, { version: 3n, sourceVersion: 3n, value: 7n }), readingOf(base, { value: 1n })])
    await insert([readingOf(base, { version: 2n, sourceVersion: 2n, value: 2n })])
    expect((await around([base])).map(({ value }) => value)).toEqual([7n])
    const strangers = [{ deviceId: hexId('dev_', 1) }, { locationId: hexId('loc_', 9) }, { energyFlowDirection: 'OUTBOUND' as const }]
    for (const change of strangers) expect(await around([base], registerOf(change))).toEqual([])
    for (const other of [
      { ...tenant, liveMode: false },
      { ...tenant, accountId: hexId('acc_', 999) },
    ]) {
      expect(await readingsAround(db, other, [{ register: registerOf(), times: [base] }])).toEqual([])
    }
  })

  it('are found around each asked time: the one at it, the nearest before and the nearest after, near or years away', async () => {
    const spots = fc.oneof(
      fc.nat(50).map(place => base + place * hour),
      fc.nat(3_000).map(place => base - place * day),
    )
    const asked = fc.uniqueArray(spots, { minLength: 1, maxLength: 12 })
    let devices = 100
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.uniqueArray(spots, { maxLength: 25 }), asked), { minLength: 1, maxLength: 4 }), async made => {
        const registers = made.map(([stored, times]) => {
          devices += 1
          return { register: registerOf({ deviceId: hexId('dev_', devices) }), stored, times: times.toSorted((a, b) => a - b) }
        })
        await insert(registers.flatMap(({ register, stored }) => stored.map(time => readingOf(time, register))))
        const found = Map.groupBy(await readingsAround(db, tenant, registers), registerKey)
        for (const { register, stored, times } of registers) {
          const got = timesOf(found.get(registerKey(register)) ?? [])
          for (const time of times) {
            expect(got.includes(time)).toBe(stored.includes(time))
            expect(got.findLast(one => one < time)).toBe(stored.toSorted((a, b) => a - b).findLast(one => one < time))
            expect(got.find(one => one > time)).toBe(stored.toSorted((a, b) => a - b).find(one => one > time))
          }
          expect(got.filter(time => !stored.includes(time))).toEqual([])
        }
      }),
      { numRuns: 8 },
    )
  })

  it('of many registers with long pasts are found by the primary key', async () => {
    const registers = Array.from({ length: 450 }, (_, i) => registerOf({ locationId: hexId('loc_', 5_000 + i) }))
    const quarters = Array.from({ length: 100 }, (_, i) => base + i * 6 * hour)
    await insert(registers.flatMap(register => quarters.map(time => readingOf(time, register))))
    const statements: string[] = []
    const recording: ClickHouse = {
      ...db,
      stream: sql => {
        statements.push(sql)
        return db.stream(sql)
      },
    }
    const last = base + 99 * 6 * hour
    const found = await readingsAround(
      recording,
      tenant,
      registers.map(register => ({ register, times: [last + hour] })),
    )
    expect(found.filter(({ time }) => time === last)).toHaveLength(450)
    expect(statements).toHaveLength(2)
    await readingsAround(recording, tenant, [{ register: registers[7] as Register, times: [last + hour] }])
    const plan = (await db.rows(`EXPLAIN indexes = 1 ${statements[2]}`)).map(line => String(line[0])).join('\n')
    const granules = [...plan.matchAll(/Granules: (\d+)\/(\d+)/g)].map(match => [Number(match[1]), Number(match[2])])
    expect(Math.min(...granules.map(([read = 0]) => read))).toBeLessThanOrEqual(2)
    expect(Math.max(...granules.map(([, all = 0]) => all))).toBeGreaterThan(20)
  })

  it('of thousands of times of one register are found', async () => {
    await insert([readingOf(base - day), readingOf(base + 20_000 * hour)])
    const times = Array.from({ length: 10_000 }, (_, i) => base + i * hour)
    expect(timesOf(await around(times))).toEqual([base - day, base + 20_000 * hour])
  })
})

/** Places in a source where readings are read without FINAL and a bound account. */
const looseReads = (source: string): readonly string[] =>
  [...source.matchAll(/\b(?:FROM|JOIN)\s+meter_readings\b[^`]*/g)]
    .map(match => match[0])
    .filter(read => !/^FROM meter_readings FINAL WHERE \$\{tenantIs\(tenant\)\} AND /.test(read))

describe('statements over readings', () => {
  it('are all settled by FINAL and bound to a tenant, and stand in one module', () => {
    const services = join(import.meta.dirname, '../../services')
    const sources = readdirSync(services, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
    const reading = sources.filter(name => /\b(?:FROM|JOIN)\s+meter_readings\b/.test(readFileSync(join(services, name), 'utf8')))
    expect(reading).toEqual([join('platform', 'clickhouse', 'meter-readings.ts')])
    expect(reading.flatMap(name => looseReads(readFileSync(join(services, name), 'utf8')))).toEqual([])
  })

  it('would be found where they are not', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a source.
    expect(looseReads('`SELECT 1 FROM meter_readings WHERE ${tenantIs(tenant)} AND 1`')).toHaveLength(1)
    expect(looseReads('`SELECT 1 FROM meter_readings FINAL WHERE 1`')).toHaveLength(1)
  })
})

describe('the readings of a step', () => {
  const lane = { topic: 'meter.records.v1', partition: 0 } as const
  const origin = { lane, message: { key: '', value: Buffer.alloc(0), headers: {}, offset: 0, timestamp: base } }
  const settleOnce = (arrived: readonly LaneReading[]) => settleReadings(db, arrived, new Map())
  const arriving = (rows: readonly MeterReadingRow[]) => rows.map(row => ({ row, origin }))

  it('become records of their intervals, with the part and the references of the closing reading', async () => {
    await insert([readingOf(base, { value: 100n, recordId: hexId('', 1) })])
    const closing = readingOf(base + hour, {
      value: 130n,
      recordId: hexId('', 2),
      version: 9n,
      sourceVersion: 9n,
      batchId: hexId('bat_', 2),
      sessionReferenceId: 's',
      recordReferenceId: 'r',
    })
    const { readings, intervals, failures } = await settleOnce(arriving([closing]))
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
          end: base + hour,
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
        record: { ...shared, ...none, start: base + hour, end: base + hour, energy: 0n, recordId: hexId('', 2), recordNumber: 1 },
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
    await insert([readingOf(base, { value: 100n }), readingOf(base, { ...stranger, value: 10n })])
    const later = { version: 5n, sourceVersion: 5n, batchId: hexId('bat_', 5), recordNumber: 3, recordReferenceId: 'r' }
    const { intervals, failures } = await settleOnce(
      arriving([
        readingOf(base + hour, { value: 90n, ...later }),
        readingOf(base + hour, { ...stranger, value: 15n }),
        readingOf(base, { deviceId: hexId('dev_', 1), value: 1n }),
      ]),
    )
    expect(intervals.map(({ part, record, isWithdrawn }) => [part.liveMode, record.deviceId, record.energy, isWithdrawn])).toEqual([
      [true, null, 0n, true],
      [true, null, 0n, true],
      [false, null, 5n, false],
      [false, null, 0n, true],
      [true, hexId('dev_', 1), 0n, true],
    ])
    const { version: _, sourceVersion: __, ...named } = later
    const error = 'register_decreased: value must not be below that of the reading before it'
    expect(failures).toEqual([{ ...tenant, ...named, foundLater: true, error }])
  })

  it('of nothing ask nothing', async () => {
    expect(await settleOnce([])).toEqual({ readings: [], intervals: [], failures: [] })
  })
  it('are settled alike with and without what was learned before, and need the store only for what is not the newest', async () => {
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
    const asked: number[] = []
    for (const [index, times] of steps.entries()) {
      const rows = times.map((time, place) => {
        const version = BigInt(100 * index + place + 1)
        return readingOf(base + time * hour, { value: BigInt(time * 10), version, sourceVersion: version })
      })
      const before = statements.length
      const settled = await settleReadings(counting, arriving(rows), newest)
      asked.push(statements.length - before)
      expect(settled).toEqual(await settleOnce(arriving(rows)))
      await insert(settled.readings)
    }
    expect(asked.map(count => count > 0)).toEqual([true, false, true, false, false])
    expect([...newest.values()].map(({ time }) => time)).toEqual([base + 7 * hour])
  })
})
