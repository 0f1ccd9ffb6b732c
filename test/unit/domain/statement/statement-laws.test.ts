import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startOfDayNumber } from '../../../../services/domain/civil-time.ts'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { energyCost } from '../../../../services/domain/cost/energy-cost.ts'
import type { MeterRecord } from '../../../../services/domain/record/record.ts'
import { type BilledRow, createPieceBiller } from '../../../../services/domain/statement/billed-row.ts'
import type { Statement, StatementInput } from '../../../../services/domain/statement/calculate-statement.ts'
import { createMeteredEnergy } from '../../../../services/domain/statement/metered-energy.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { meteredRecordOf, priceRecords } from '../../../support/acceptance/calculate-case.ts'
import { chargeOf, dayOf } from '../../../support/acceptance/read-charge.ts'
import { allDay, band, entry, pricing, rate, tariff } from '../../../support/oracle/tables.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'
import { statementOf } from './bill.ts'

const zones = ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'UTC'] as const
const pool = createPricingPool()
const [first, last] = [dayOf('2026-03-20'), dayOf('2026-05-03')]

const tariffs = [
  tariff([band('07:00-21:30', [rate(0.3, 40), rate(0.2)]), band('21:30-07:00', 0.1)], { id: 'trf_energy' }),
  tariff(allDay([rate(0.05, 30), rate(0.0833333331)]), { id: 'trf_grid', type: 'NON_COMMODITY' }),
  tariff(allDay(0.07), { id: 'trf_sold', direction: 'EXPORT' }),
]

const flows = [
  { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' },
  { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' },
  { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' },
  { energyFlowDirection: 'OUTBOUND', tariffDirection: 'IMPORT' },
] as const

const recordOf: fc.Arbitrary<MeterRecord> = fc
  .record({
    flow: fc.constantFrom(...flows, flows[0], flows[0]),
    minute: fc.integer({ min: first * 1440 - 3000, max: last * 1440 + 3000 }),
    minutes: fc.constantFrom(0, 7, 15, 30, 60, 60, 1440, 9001),
    energy: fc.bigInt({ min: 0n, max: 9_000_000_001n }),
    confidence: fc.constantFrom(1_000_000, 1_000_000, 700_000),
    session: fc.constantFrom(null, null, 's-1', 's-2'),
    device: fc.constantFrom(null, 'dev_1', 'dev_2'),
  })
  .map(({ flow, minute, minutes, energy, confidence, session, device }) => ({
    ...flow,
    locationId: 'loc_1',
    deviceId: device,
    energy,
    confidence,
    recordReferenceId: null,
    start: minute * 60_000,
    end: (minute + minutes) * 60_000,
    sessionReferenceId: session,
  }))

const wires = [
  { kind: 'FIXED', name: 'day', price: '0.4785', per: 'DAY' },
  { kind: 'FIXED', name: 'month', price: '9.99', per: 'MONTH', start_date: '2026-03-25' },
  { kind: 'USAGE', name: 'levy', price: '0.0205' },
  { kind: 'USAGE', name: 'net', price: '0.013', counts: 'NET_IMPORT' },
  { kind: 'DEMAND', name: 'peak', interval_minutes: '30', highest: '3', distinct_days: true, price: '4.1' },
  { kind: 'SESSION', name: 'time', per: 'MINUTE', price: '0.013', max_amount: '7.5' },
  { kind: 'MINIMUM', name: 'least', amount: '55.123', per: 'MONTH', end_date: '2026-04-11' },
  { kind: 'MAXIMUM', name: 'most', amount: '1', per: 'DAY', per_kwh: '0.21', base: { components: ['grid', 'usage'] } },
  { kind: 'PERCENTAGE', name: 'old tax', rate: '0.19', end_date: '2026-04-06' },
  { kind: 'PERCENTAGE', name: 'tax', rate: '0.07', start_date: '2026-04-06' },
  { kind: 'PERCENTAGE', name: 'bonus', rate: '-0.03', tax: false, sequence: '150' },
]

type Setup = { readonly records: readonly MeterRecord[]; readonly zone: string; readonly profile: string }

const setup: fc.Arbitrary<Setup> = fc.record({
  records: fc.array(recordOf, { minLength: 1, maxLength: 60 }),
  zone: fc.constantFrom(...zones),
  profile: fc.constantFrom('EXACT', 'LARGEST_REMAINDER', 'EN16931'),
})

const monthEdges = [first, dayOf('2026-04-01'), dayOf('2026-05-01'), last]

const inputOf = ({ records, zone, profile }: Setup, edges: readonly number[] = monthEdges): StatementInput => {
  const snapshot = compileSnapshot(pricing(zone, tariffs), pool)
  const metered = records.map(record => meteredRecordOf(record))
  return {
    locationId: 'loc_1',
    pool,
    calendar: null,
    expected: null,
    hasDetail: true,
    finals: [],
    now: Date.UTC(2100),
    metered: createMeteredEnergy(metered, {
      timeZone: zoneOf(zone),
      includesDevices: { IMPORT: true, EXPORT: true, LOCAL: true },
    }),
    periods: edges.slice(1).map((endDay, index) => ({ startDay: edges[index] as number, endDay })),
    rounding: { profile: profile as 'EXACT', decimals: 2 },
    tariffs: tariffs.map(({ id, direction, type, contractStart }) => ({
      id,
      direction,
      type,
      contractStart,
      planId: null,
      component: type === 'COMMODITY' ? 'energy' : 'grid',
    })),
    rows: priceRecords(snapshot, metered),
    charges: wires.map((wire, index) => chargeOf(wire, `chg_${index}`)),
  }
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n)
const linesOf = ({ periods }: Statement) => periods.flatMap(({ lines }) => lines)

describe('in every statement', () => {
  it('lines add up to the totals, and periods to the statement, rounded ones too', () => {
    fc.assert(
      fc.property(setup, one => {
        const { periods, totals } = statementOf(inputOf(one))
        for (const { lines, totals: own } of periods) {
          const [taxes, others] = [lines.filter(line => line.isTax), lines.filter(line => !line.isTax)]
          expect(own).toMatchObject({
            net: sumOf(others.map(line => line.amount)),
            tax: sumOf(taxes.map(line => line.amount)),
            gross: sumOf(lines.map(line => line.amount)),
            netRounded: sumOf(others.map(line => line.amountRounded)),
            taxRounded: sumOf(taxes.map(line => line.amountRounded)),
            grossRounded: sumOf(lines.map(line => line.amountRounded)),
          })
        }
        for (const name of Object.keys(totals) as (keyof typeof totals)[])
          expect(totals[name]).toBe(sumOf(periods.map(period => period.totals[name])))
      }),
      { numRuns: 60 },
    )
  })

  it('lines of energy are the costs of the same rows, day by day, to the last digit', () => {
    fc.assert(
      fc.property(setup, one => {
        const input = inputOf(one)
        const rows = [...input.rows].filter(row => row !== null)
        for (const [energyFlowDirection, tariffDirection, sign] of [
          ['INBOUND', 'IMPORT', 1n],
          ['OUTBOUND', 'EXPORT', -1n],
        ] as const) {
          const own = rows.filter(
            row => row.energyFlowDirection === energyFlowDirection && row.tariffDirection === tariffDirection,
          )
          for (const { startDay, endDay, lines } of statementOf({ ...input, rows }).periods) {
            const { timeZone } = input.metered
            const [start, end] = [startOfDayNumber(timeZone, startDay), startOfDayNumber(timeZone, endDay)]
            const days = energyCost({ start, end, timeZone, aggregation: 'DAY' }, own)
            const ofLine = lines.filter(line => line.kind === 'ENERGY' && line.direction === tariffDirection)
            expect(sign * sumOf(ofLine.map(line => line.amount))).toBe(sumOf(days.map(day => day.cost)))
            const energy = sumOf(days.map(day => day.energy))
            for (const line of ofLine) expect(line.quantity).toBe(energy)
            expect(ofLine.length > 0).toBe(days.some(day => day.records > 0))
            for (const { amount, prices } of ofLine)
              expect(sumOf((prices ?? []).map(detail => detail.amount))).toBe(amount)
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  it('the order of records and rows has no effect', () => {
    fc.assert(
      fc.property(setup, one => {
        const input = inputOf(one)
        const reversed = inputOf({ ...one, records: one.records.toReversed() })
        const rows = [...input.rows].toReversed()
        expect(statementOf({ ...input, metered: reversed.metered, rows })).toEqual(statementOf(input))
      }),
      { numRuns: 40 },
    )
  })

  it('lines by days are those of the parts, if the statement is cut at any day', () => {
    fc.assert(
      fc.property(setup, fc.integer({ min: first + 1, max: last - 1 }), (one, cut) => {
        const names = ['Energy', 'Grid fee', 'Energy export', 'day', 'levy', 'net', 'time']
        const amountsOf = (edges: readonly number[]) => {
          const lines = linesOf(statementOf(inputOf({ ...one, profile: 'EXACT' }, edges)))
          return names.map(name => sumOf(lines.filter(line => line.name === name).map(line => line.amount)))
        }
        const whole = amountsOf([first, last])
        const parts = amountsOf([first, cut, last])
        for (const [index, name] of names.entries()) {
          const difference = (whole[index] as bigint) - (parts[index] as bigint)
          // Prices with many decimals round once per line: levy, net and time are rounded to 1e-9 in each part.
          const tolerance = ['levy', 'net', 'time'].includes(name) ? 1n : 0n
          expect(difference >= -tolerance && difference <= tolerance, `${name} ${difference}`).toBe(true)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('records that are priced again by the same tariffs give the same statement', () => {
    fc.assert(
      fc.property(setup, one => {
        const input = inputOf(one)
        expect(statementOf({ ...inputOf(one), metered: input.metered })).toEqual(statementOf(input))
      }),
      { numRuns: 20 },
    )
  })
})

describe('pieces of a record', () => {
  it('are cut where opposite changes of both prices hide each other', () => {
    // 0.1 + 0.2 until noon, 0.2 + 0.1 after it: one piece at 0.3, of which the grid has 0.2 and 0.1.
    const hidden = [
      tariff([band('00:00-12:00', 0.1), band('12:00-00:00', 0.2)]),
      tariff([band('00:00-12:00', 0.2), band('12:00-00:00', 0.1)], { id: 'trf_fee', type: 'NON_COMMODITY' }),
    ].map(one => ({ ...one, schedule: [entry(one.schedule[0]?.daysAndHours[0]?.hours ?? [])] }))
    const snapshot = compileSnapshot(pricing('UTC', hidden), pool)
    const record = { ...flows[0], locationId: 'loc_1', deviceId: null, confidence: 1_000_000 }
    const texts = { sessionReferenceId: null, recordReferenceId: null }
    const [start, end] = [Date.UTC(2026, 0, 1, 9), Date.UTC(2026, 0, 1, 13)]
    const { pieces } = costRecord(snapshot, { ...record, ...texts, start, end, energy: 4_000_000_000n })
    expect(pieces.map(({ price }) => price)).toEqual([300_000_000n])
    const split: readonly BilledRow['pieces'][number][] = createPieceBiller(snapshot)('IMPORT', pieces)
    expect(split).toMatchObject([
      {
        start,
        end: Date.UTC(2026, 0, 1, 12),
        energy: 3_000_000_000n,
        cost: 900_000_000n,
        nonCommodityPrice: 200_000_000n,
      },
      { end, energy: 1_000_000_000n, cost: 300_000_000n, nonCommodityPrice: 100_000_000n, nonCommodityId: 'trf_fee' },
    ])
  })
})
