import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DayRange, daysOfMonth, monthOfDay } from '../../../../../services/domain/charge/charge-days.ts'
import { startOfDayNumber } from '../../../../../services/domain/civil-time.ts'
import { earlierRecords } from '../../../../../services/domain/statement/earlier-records.ts'
import { measureDemand } from '../../../../../services/domain/statement/measure-demand.ts'
import { createMeteredEnergy } from '../../../../../services/domain/statement/metered-energy.ts'
import type { MeterCostRow } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import {
  decodeStatementRows,
  type StatementRows,
  statementBlocks,
} from '../../../../../services/platform/clickhouse/meter-cost/statement-rows.ts'
import { hexId } from '../../../../suites/cost-rows.ts'
import {
  dayMs,
  db,
  hourMs,
  insert,
  location,
  nextTenant,
  own,
  useMeterTables,
} from '../../../../suites/meter-tables.ts'
import { chargeOf, dayOf } from '../../../../support/acceptance/read-charge.ts'
import { zoneOf } from '../../../../support/oracle/zone.ts'

useMeterTables()

const minuteMs = 60_000
const devices = [null, hexId('dev_', 1), hexId('dev_', 2), hexId('dev_', 3)]

/** Zones with the first day of a statement; their clocks change in the months before. */
const zones = [
  { name: 'Europe/Berlin', startDay: '2026-05-01' },
  { name: 'America/St_Johns', startDay: '2011-05-01' },
  { name: 'Asia/Kathmandu', startDay: '2026-05-01' },
] as const

/** Clock changes of the zones, and the start of the second month before the statement in UTC. */
const someInstant = ({ name }: (typeof zones)[number]): fc.Arbitrary<number> => {
  const [change, month] =
    name === 'America/St_Johns'
      ? [Date.UTC(2011, 2, 13, 3, 31), Date.UTC(2011, 2, 1, 3, 30)]
      : [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 2, 1) - 6 * hourMs]
  const near = (at: number) => fc.integer({ min: -3, max: 3 }).map(quarters => at + quarters * 15 * minuteMs)
  const within = fc.integer({ min: 0, max: 61 * 96 }).map(quarters => month + quarters * 15 * minuteMs)
  const shift = fc.constantFrom(0, 0, 0, 60_000, 450_000)
  return fc
    .tuple(fc.oneof({ arbitrary: near(change), weight: 3 }, near(month), within), shift)
    .map(([at, ms]) => at + ms)
}

const someRow = (zone: (typeof zones)[number]) =>
  fc.record({
    start: someInstant(zone),
    lengthMs: fc.constantFrom(0, minuteMs, 15 * minuteMs, 15 * minuteMs, 15 * minuteMs, hourMs, 40 * hourMs),
    energy: fc.bigInt({ min: 0n, max: 20_000_000_000n }),
    isLarge: fc.integer({ min: 0, max: 9 }).map(number => number === 0),
    deviceId: fc.constantFrom(...devices),
    flow: fc.constantFrom('IMPORT', 'IMPORT', 'EXPORT', 'LOCAL'),
    session: fc.constantFrom(null, null, null, 'session-1'),
    isCut: fc.integer({ min: 0, max: 5 }).map(number => number === 0),
  })

const rowOf = (
  { start, lengthMs, ...made }: ReturnType<typeof someRow> extends fc.Arbitrary<infer Row> ? Row : never,
  index: number,
) => {
  const end = start + lengthMs
  const energy = made.isLarge ? made.energy + 2n * 10n ** 12n : made.energy
  const isCut = made.isCut && lengthMs > 0
  const price = { price: 300_000_000n, tier: 0n, cost: 0n, confidence: 1_000_000 }
  const pieces = isCut
    ? [
        { start, end: start + lengthMs / 2, energy: 0n, ...price },
        { start: start + lengthMs / 2, end, energy, ...price },
      ]
    : [{ start, end, energy, ...price }]
  return own({
    start,
    end,
    energy,
    recordId: hexId('', index + 1),
    locationId: location,
    deviceId: made.deviceId,
    pieces,
    energyFlowDirection: made.flow === 'EXPORT' ? 'OUTBOUND' : 'INBOUND',
    tariffDirection: made.flow as MeterCostRow['tariffDirection'],
    sessionReferenceId: made.session,
    energySubmitted: isCut ? energy * 2n : null,
    recordConfidence: isCut ? 500_000 : 1_000_000,
  })
}

const rolling = (members: object) =>
  chargeOf(
    { kind: 'DEMAND', name: 'demand', price: '1', over: 'ROLLING', rolling_months: '3', ...members },
    JSON.stringify(members),
  )

const charges = [
  [rolling({ interval_minutes: '15' }), rolling({ counts: 'NET_IMPORT', interval_minutes: '30', highest: '3' })],
  [rolling({ interval_minutes: '60' })],
  [rolling({ counts: 'GROSS', interval_minutes: '60', distinct_days: true, highest: '5' })],
  [rolling({ device_ids: [devices[1]] }), rolling({ device_ids: [devices[1], devices[2]], interval_minutes: '15' })],
  [rolling({ device_ids: [devices[3]] }), rolling({ counts: 'EXPORT' })],
]

const readRows = async (
  rows: Omit<StatementRows, 'interval'> & Pick<StatementRows['interval'], 'tenant' | 'from' | 'to'>,
) => {
  const { sessions, earlier, ...interval } = rows
  const read = { interval: { ...interval, locationId: location }, sessions, earlier }
  const blocks = await Array.fromAsync(statementBlocks(db, read, 1_000))
  return blocks.flatMap(block => decodeStatementRows(block, location)).map(({ record }) => record)
}

describe('earlier rows', () => {
  it('give the same measurements when they are added up', async () => {
    const someCase = fc.constantFrom(...zones).chain(zone =>
      fc.record({
        zone: fc.constant(zone),
        rows: fc.array(someRow(zone), { minLength: 1, maxLength: 60 }),
        counted: fc.constantFrom(...charges),
        includes: fc.boolean(),
        hasSessions: fc.boolean(),
      }),
    )
    let added = 0
    await fc.assert(
      fc.asyncProperty(someCase, async ({ zone, rows, counted, includes, hasSessions }) => {
        const mine = nextTenant()
        await insert(rows.map((row, index) => ({ ...rowOf(row, index), ...mine })))
        const timeZone = zoneOf(zone.name)
        const startDay = dayOf(zone.startDay)
        const to = startOfDayNumber(timeZone, startDay)
        const earlier = earlierRecords(timeZone, counted, startDay, to)
        if (earlier === null) throw new Error('The charges read no earlier records.')
        const end = to + 31 * dayMs
        const sessions = hasSessions
          ? { within: { from: to - 40 * dayMs, to: end }, bounds: { from: earlier.from, to: end } }
          : null
        const all = await readRows({ tenant: mine, from: earlier.from, to: end, sessions: null, earlier: null })
        const some = await readRows({ tenant: mine, from: to, to: end, sessions, earlier })
        added += all.length - some.length
        for (const charge of counted) {
          for (let month = 1; month <= 2; month += 1) {
            const range: DayRange = daysOfMonth(monthOfDay(startDay) - month)
            const [expected, found] = [all, some].map(records => {
              const includesDevices = { IMPORT: includes, EXPORT: includes, LOCAL: includes }
              const metered = createMeteredEnergy(records, { timeZone, includesDevices })
              return measureDemand(metered, charge as never, null, range)
            })
            expect(found).toEqual(expected)
          }
        }
      }),
      { numRuns: 15 },
    )
    expect(added).toBeGreaterThan(0)
  })

  it('are at most one row more than allowed, so that the read is bounded', async () => {
    const rows = Array.from({ length: 50 }, (_, index) =>
      own({ start: Date.UTC(2026, 3, 1) + index * hourMs, recordId: hexId('', index + 1), locationId: location }),
    )
    const startDay = dayOf('2026-05-01')
    const to = startOfDayNumber(zoneOf('UTC'), startDay)
    const earlier = earlierRecords(zoneOf('UTC'), [rolling({})], startDay, to)
    const mine = nextTenant()
    await insert(rows.map(row => ({ ...row, ...mine })))
    const interval = { tenant: mine, locationId: location, from: to, to: to + dayMs }
    for (const [maxRows, count] of [
      [50, 50],
      [51, 50],
      [20, 20],
    ] as const) {
      const blocks = await Array.fromAsync(statementBlocks(db, { interval, sessions: null, earlier }, maxRows))
      expect(blocks.flatMap(block => decodeStatementRows(block, location)).length).toBe(count)
    }
  })
})
