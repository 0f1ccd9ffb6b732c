import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketOf } from '../oracle/buckets.ts'
import { costRecords } from '../oracle/cost.ts'
import { zoneOf } from '../oracle/zone.ts'
import type { ScheduleBody } from './bill-input.ts'
import { billedRecords, readRecords } from './bill-records.ts'
import { type BillStatement, billStatement, type StatementLine } from './bill-statement.ts'
import { bandSeconds } from './day-bands.ts'
import { decimalText, minorUnit, nanoOf } from './fraction.ts'
import { bills, type GeneratedBill } from './generate-bill.ts'
import { dayStart, dayText, readDay } from './local-days.ts'
import { readTariffs } from './price-parts.ts'

const runs = { numRuns: Number(process.env['BILL_RUNS'] ?? 12) }

const sum = (texts: readonly string[]): bigint => texts.reduce((total, text) => total + nanoOf(text), 0n)
const amounts = (lines: readonly StatementLine[]): bigint => sum(lines.map(({ amount }) => amount))
const linesOf = ({ periods }: BillStatement): readonly StatementLine[] => periods.flatMap(({ lines }) => lines)

const verifyTotals = (lines: readonly StatementLine[], totals: BillStatement['totals']): void => {
  const totalOf = (isTax: boolean, member: 'amount' | 'amount_rounded'): string =>
    decimalText(sum(lines.filter(({ tax }) => tax === isTax).map(line => line[member])))
  expect(totals).toMatchObject({
    net: totalOf(false, 'amount'),
    tax: totalOf(true, 'amount'),
    gross: decimalText(amounts(lines)),
    net_rounded: totalOf(false, 'amount_rounded'),
    tax_rounded: totalOf(true, 'amount_rounded'),
    gross_rounded: decimalText(sum(lines.map(line => line.amount_rounded))),
  })
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)

const verifyRounding = (
  { statement, location }: GeneratedBill,
  { lines, totals }: BillStatement['periods'][0],
): void => {
  const unit = minorUnit(statement.rounding?.decimals, location.currency_code)
  const profile = statement.rounding?.profile ?? 'EXACT'
  for (const { kind, amount, amount_rounded, prices } of lines) {
    const rounded = nanoOf(amount_rounded)
    if (profile === 'EXACT') expect(amount_rounded).toBe(amount)
    else expect(rounded % unit).toBe(0n)
    if (profile === 'LARGEST_REMAINDER') expect(size(rounded - nanoOf(amount))).toBeLessThan(unit)
    if (kind === 'ENERGY' && prices !== null) expect(amount).toBe(decimalText(sum(prices.map(price => price.amount))))
    const isDerived = ['MINIMUM', 'MAXIMUM', 'PERCENTAGE'].includes(kind)
    if (profile === 'EN16931' && !isDerived) expect(2n * size(rounded - nanoOf(amount))).toBeLessThanOrEqual(unit)
  }
  if (profile === 'LARGEST_REMAINDER')
    expect(2n * size(nanoOf(totals.gross_rounded) - nanoOf(totals.gross))).toBeLessThanOrEqual(unit)
}

/** The bill as one period of some days, without rounding. */
const ofDays = (bill: GeneratedBill, first: number, end: number): BillStatement =>
  billStatement({
    ...bill,
    statement: {
      ...bill.statement,
      start_date: dayText(first),
      end_date: dayText(end),
      periods: 'ONE',
      rounding: null,
    },
  })

const shuffled = <T>(items: readonly T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray([...items], { minLength: items.length })

describe('lines', () => {
  it('add up to the totals, and are rounded as the profile says', () => {
    fc.assert(
      fc.property(bills, bill => {
        const statement = billStatement(bill)
        for (const period of statement.periods) {
          verifyTotals(period.lines, period.totals)
          verifyRounding(bill, period)
        }
        verifyTotals(linesOf(statement), statement.totals)
      }),
      runs,
    )
  })

  it('do not depend on the order of the records', () => {
    fc.assert(
      fc.property(
        bills.chain(bill => fc.tuple(fc.constant(bill), shuffled(bill.records))),
        ([bill, records]) => {
          expect(billStatement({ ...bill, records })).toEqual(billStatement(bill))
        },
      ),
      runs,
    )
  })

  it('of two parts add up to the lines of the whole if no line is per period', () => {
    // Each statement rounds once per line to 1e-9, so two parts may differ by two roundings. Energy is exact.
    const additive = ['FIXED', 'USAGE', 'SESSION']
    fc.assert(
      fc.property(bills, fc.nat(), (generated, cut) => {
        const bill = { ...generated, charges: generated.charges.filter(({ kind }) => additive.includes(kind)) }
        const [first, end] = [readDay(bill.statement.start_date), readDay(bill.statement.end_date)]
        const middle = first + (cut % (end - first))
        if (middle === first) return
        const whole = linesOf(ofDays(bill, first, end))
        const parts = [ofDays(bill, first, middle), ofDays(bill, middle, end)].flatMap(linesOf)
        const energyOf = (lines: readonly StatementLine[]) => lines.filter(({ kind }) => kind === 'ENERGY')
        expect(amounts(energyOf(parts))).toBe(amounts(energyOf(whole)))
        for (const [index] of bill.charges.entries()) {
          const ofCharge = (lines: readonly StatementLine[]) => lines.filter(({ charge }) => charge === index)
          const difference = size(amounts(ofCharge(parts)) - amounts(ofCharge(whole)))
          expect(difference).toBeLessThanOrEqual(BigInt(ofCharge(parts).length + ofCharge(whole).length))
        }
      }),
      runs,
    )
  })
})

describe('adjustments', () => {
  it('and the final statement add up to the statement of now', () => {
    const keyOf = ({ component, tax }: StatementLine): string => `${component} ${tax}`
    const sums = (lines: readonly StatementLine[]): Map<string, bigint> => {
      const found = new Map<string, bigint>()
      for (const line of lines) found.set(keyOf(line), (found.get(keyOf(line)) ?? 0n) + nanoOf(line.amount_rounded))
      return new Map([...found].filter(([, amount]) => amount !== 0n).sort())
    }
    fc.assert(
      fc.property(
        bills.chain(bill => fc.tuple(fc.constant(bill), fc.subarray([...bill.records]))),
        ([bill, early]) => {
          const final = { id: 'stm_1', request: bill.statement, ...billStatement({ ...bill, records: early }) }
          const next = { start_date: bill.statement.end_date, end_date: dayText(readDay(bill.statement.end_date) + 3) }
          const draft = billStatement({ ...bill, finals: [final], statement: { ...next, rounding: null } })
          const adjusting = linesOf(draft).filter(({ kind }) => kind === 'ADJUSTMENT')
          expect(sums([...linesOf(final), ...adjusting])).toEqual(sums(linesOf(billStatement(bill))))
          // A final statement that carries the adjustment leaves nothing to adjust.
          const second = { id: 'stm_2', request: { ...next, rounding: null }, ...draft }
          const later = { start_date: next.end_date, end_date: dayText(readDay(next.end_date) + 1) }
          const third = billStatement({ ...bill, finals: [final, second], statement: later })
          expect(linesOf(third).filter(({ kind }) => kind === 'ADJUSTMENT')).toEqual([])
        },
      ),
      runs,
    )
  })
})

describe('energy', () => {
  it('costs the same as in the oracle of prices, which does not know calendars', () => {
    const daysAndHours = (schedule: ScheduleBody<unknown>) => schedule.flatMap(entry => entry.days_and_hours)
    const plain = bills.filter(({ calendar }) => calendar === null)
    fc.assert(
      fc.property(plain, bill => {
        const { timezone: zone } = bill.location
        const bands = new Map(readTariffs(bill.tariffs).map(tariff => [tariff.place, tariff]))
        const tariffs = bill.tariffs.map((body, place) => {
          const read = bands.get(place)
          let band = 0
          const schedule = body.schedule.map(entry => ({
            months: entry.months,
            dates: entry.dates ?? [],
            daysAndHours: daysAndHours([entry]).map(({ days, hours }) => ({
              days,
              hours: hours.map(one => ({
                validFrom: bandSeconds(one).from,
                validTo: bandSeconds(one).to,
                rate: read?.bands[band++]?.value ?? [],
              })),
            })),
          }))
          return {
            id: read?.id,
            direction: body.direction,
            type: body.type,
            marketRates: false,
            closedAt: null,
            schedule,
            contractStart: body.contract_start_date == null ? null : Date.parse(body.contract_start_date),
            contractEnd: body.contract_end_date == null ? null : Date.parse(body.contract_end_date),
          }
        })
        const input = { timeZone: zoneOf(zone), calendar: null, tariffs, importMarket: null, exportMarket: null }
        const records = readRecords(bill)
        const costs = costRecords(input as unknown as Parameters<typeof costRecords>[0], records)
        const span = [bill.statement.start_date, bill.statement.end_date].map(day => dayStart(zone, readDay(day)))
        const [start = 0, end = 0] = span
        const include = bill.statement.include_devices ?? 'auto'
        const statement = billStatement({ ...bill, statement: { ...bill.statement, periods: 'ONE' } })
        for (const [flow, sign, direction] of [
          ['INBOUND+IMPORT', 1n, 'IMPORT'],
          ['OUTBOUND+EXPORT', -1n, 'EXPORT'],
        ] as const) {
          const ids = new Set(billedRecords(records, include, flow).map(({ id }) => id))
          const { cost } = bucketOf(
            costs.filter(({ id }) => ids.has(id)),
            start,
            end,
          )
          const lines = linesOf(statement).filter(line => line.kind === 'ENERGY' && line.tariff_direction === direction)
          expect(amounts(lines)).toBe(sign * cost)
        }
      }),
      runs,
    )
  })
})
