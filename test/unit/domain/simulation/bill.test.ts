import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayNumber, writeDate } from '../../../../services/domain/civil-date.ts'
import { addBills, type Bill, billOf, emptyBill, standingDaysOf } from '../../../../services/domain/simulation/bill.ts'
import { chargeOf } from '../../../support/acceptance/read-charge.ts'
import { flat, billOf as statementOf, used } from '../statement/bill.ts'

const nano = 1_000_000_000n

const terms = [
  { kind: 'FIXED', name: 'base', price: '5', per: 'MONTH' },
  { kind: 'PERCENTAGE', name: 'VAT', rate: '0.2', base: { directions: ['IMPORT'] } },
]
const charges = terms.map((wire, index) => chargeOf(wire, `chg_${index}`))

/** Statement of a quarter: 0.30 per kWh bought, 0.10 sold, 5.00 a month, 20 % tax on both. */
const quarter = (profile = 'EXACT') =>
  statementOf({
    tariffs: [flat('0.3'), { ...flat('0.1'), direction: 'EXPORT' }],
    charges: terms,
    statement: { start_date: '2026-05-16', end_date: '2026-07-01', rounding: { profile } },
    records: [
      used('2026-05-20T10:00', '2026-05-20T11:00', '10'),
      used('2026-06-20T10:00', '2026-06-20T11:00', '100.01'),
      used('2026-06-20T10:00', '2026-06-20T11:00', '20', {
        energy_flow_direction: 'OUTBOUND',
        tariff_direction: 'EXPORT',
      }),
    ],
  })

const billed = (profile?: string): Bill => billOf(quarter(profile), { charges, days, hasLines: true })

/** 16 May to 30 June 2026. */
const days = { startDay: dayNumber(2026, 5, 16), endDay: dayNumber(2026, 7, 1) }

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n)

describe('the bill of a statement', () => {
  it('adds up energy, charges and tax by hand', () => {
    // 110.01 × 0.3 − 20 × 0.1 = 31.003; 5 × 16/31 + 5 = 7.580645161; 20 % of 33.003 and of the charges = 8.116729032
    expect(billed()).toMatchObject({
      energy: 31_003_000_000n,
      charges: 7_580_645_161n,
      tax: 8_116_729_032n,
      total: 46_700_374_193n,
      isComplete: false,
    })
  })

  it('has the totals of calendar months, and lines that add up to the total', () => {
    for (const profile of ['EXACT', 'LARGEST_REMAINDER', 'EN16931']) {
      const { energy, charges, tax, total, months, lines } = billed(profile)
      expect(months.map(({ month }) => month)).toEqual([2026 * 12 + 4, 2026 * 12 + 5])
      expect([sumOf(months.map(one => one.total)), energy + charges + tax]).toEqual([total, total])
      expect(sumOf(lines.map(line => line.amountRounded))).toBe(total)
      expect(lines.map(({ name }) => name)).toEqual(['Energy', 'base', 'VAT', 'Energy export'])
    }
  })

  it('is in minor units with a profile that rounds', () => {
    const { energy, charges, tax } = billed('LARGEST_REMAINDER')
    for (const amount of [energy, charges, tax]) expect(amount % (nano / 100n)).toBe(0n)
  })

  it('has lines only on request', () => {
    expect(billOf(quarter(), { charges, days, hasLines: false }).lines).toEqual([])
  })
})

describe('the standing days of a bill', () => {
  const fixed = (start_date?: string, end_date?: string) => ({ kind: 'FIXED', per: 'DAY', start_date, end_date })
  const monthsOf = (...list: object[]) => {
    const own = list.map((wire, index) => chargeOf({ name: 'x', price: '1', ...wire }, `chg_${index}`))
    return billOf(quarter(), { charges: own, days, hasLines: false }).months.map(one => one.standingDays)
  }
  /** 16 days of May and 30 days of June. */
  it.each([
    ['a charge without dates', [fixed()], [16, 30]],
    ['two charges without dates', [fixed(), { ...fixed(), per: 'YEAR', prorate: 'NONE' }], [16, 30]],
    ['a price that replaces another one', [fixed(undefined, '2026-05-20'), fixed('2026-05-20')], [16, 30]],
    ['a charge of four days', [fixed('2026-06-27')], [0, 4]],
    ['a second charge of four days', [fixed(), fixed('2026-06-27')], [0, 4]],
    ['a second charge from June on', [fixed(), fixed('2026-06-01')], [0, 30]],
    ['two charges with a gap', [fixed(undefined, '2026-05-20'), fixed('2026-06-29', '2027-01-01')], [4, 2]],
    ['charges outside of these days', [fixed('2026-07-01'), fixed(undefined, '2026-05-16')], [0, 0]],
    ['other kinds', [{ kind: 'USAGE' }, { kind: 'DEMAND' }, { kind: 'SESSION', per: 'SESSION' }], [0, 0]],
  ])('are the days with all of them: %s', (_, list, expected) => {
    expect(monthsOf(...list)).toEqual(expected)
  })

  const day = fc.integer({ min: days.startDay - 5, max: days.endDay + 5 })
  const fixedCharge = fc.record({ start: fc.option(day), length: fc.integer({ min: 1, max: 60 }) })

  it('and those of its lines are what a count day by day gives, also for a part of the days', () => {
    const random = fc.property(fc.array(fixedCharge, { maxLength: 5 }), fc.boolean(), (terms, isPart) => {
      const wires = terms.map(({ start, length }, index) => ({
        kind: 'FIXED',
        name: `fee ${index}`,
        price: '1',
        per: 'DAY',
        ...(start === null ? {} : { start_date: writeDate(start), end_date: writeDate(start + length) }),
      }))
      const statement = { start_date: isPart ? '2026-06-01' : '2026-05-16', end_date: '2026-07-01' }
      const own = wires.map((wire, index) => chargeOf(wire, `chg_${index}`))
      const bill = billOf(statementOf({ charges: wires, statement }), { charges: own, days, hasLines: true })
      const isPaid = (one: number, { start, length }: (typeof terms)[number]): boolean =>
        start === null || (one >= start && one < start + length)
      const all = Array.from({ length: days.endDay - days.startDay }, (_, index) => days.startDay + index)
      const counts = all.map(one => terms.filter(term => isPaid(one, term)).length)
      const most = Math.max(...counts)
      const [may, june] = [counts.slice(0, 16), counts.slice(16)].map(part =>
        most === 0 ? 0 : part.filter(count => count === most).length,
      )
      expect(bill.months.map(one => one.standingDays)).toEqual(isPart ? [june] : [may, june])
      expect(standingDaysOf(bill)).toBe((isPart ? 0 : (may ?? 0)) + (june ?? 0))
      const billed = all.slice(isPart ? 16 : 0)
      const paid = terms.map((term, index) => [`fee ${index}`, billed.filter(one => isPaid(one, term)).length] as const)
      const lines = bill.lines.filter(({ kind }) => kind === 'FIXED')
      expect(Object.fromEntries(lines.map(line => [line.name, line.standingDays]))).toEqual(
        Object.fromEntries(paid.filter(([, count]) => count > 0)),
      )
    })
    fc.assert(random, { numRuns: 300, seed: 7 })
  })

  it('are added up, and unknown if they are unknown in a part', () => {
    const unknown = {
      ...billed(),
      months: billed().months.map(({ month, total }) => ({ month, total })),
      lines: billed().lines.map(({ standingDays: _, ...line }) => line),
    }
    const sums = [addBills(billed(), billed()), addBills(billed(), unknown), addBills(unknown, billed())]
    expect(sums.map(standingDaysOf)).toEqual([92, null, null])
    const ofLine = ({ lines }: Bill, name: string) => lines.find(line => line.name === name)?.standingDays
    expect(sums.map(sum => ofLine(sum, 'base'))).toEqual([92, undefined, undefined])
    expect(ofLine(billed(), 'VAT')).toBeUndefined()
    expect(standingDaysOf(emptyBill)).toBe(0)
  })
})

describe('a sum of bills', () => {
  it('adds up amounts, months and equal lines', () => {
    const one = billed()
    const sum = addBills(one, one)
    expect([sum.energy, sum.charges, sum.tax, sum.total]).toEqual([
      2n * one.energy,
      2n * one.charges,
      2n * one.tax,
      2n * one.total,
    ])
    expect(sum.months).toEqual(
      one.months.map(({ month, total, standingDays = 0 }) => ({
        month,
        total: 2n * total,
        standingDays: 2 * standingDays,
      })),
    )
    expect(sum.lines).toEqual(
      one.lines.map(line => ({
        ...line,
        quantity: line.quantity === null ? null : 2n * line.quantity,
        amount: 2n * line.amount,
        amountRounded: 2n * line.amountRounded,
        ...(line.standingDays === undefined ? {} : { standingDays: 2 * line.standingDays }),
      })),
    )
  })

  it('with the empty bill is the same bill', () => {
    expect(addBills(emptyBill, billed())).toEqual(billed())
  })

  it('is complete only if both are, and lists the months of both by time', () => {
    const [month] = billed().months
    const whole = { ...emptyBill, months: [{ month: 3, total: nano }] }
    expect(addBills(billed(), whole)).toMatchObject({
      isComplete: false,
      months: [{ month: 3, total: nano }, month, {}],
    })
    expect(addBills(whole, whole).isComplete).toBe(true)
  })
})
