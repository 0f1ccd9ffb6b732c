import { describe, expect, it } from 'vitest'
import { addBills, type Bill, billOf, emptyBill } from '../../../../services/domain/simulation/bill.ts'
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

const billed = (profile?: string): Bill => billOf(quarter(profile), charges, true)

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
    expect(billOf(quarter(), charges, false).lines).toEqual([])
  })
})

describe('the standing days of a bill', () => {
  const daysOf = (...list: object[]) => {
    const own = list.map((wire, index) => chargeOf({ name: 'x', price: '1', ...wire }, `chg_${index}`))
    return billOf(quarter(), own, false).standingDays
  }
  const fixed = (start_date?: string, end_date?: string) => ({ kind: 'FIXED', per: 'DAY', start_date, end_date })

  it('are the days on which a FIXED charge is paid, each once', () => {
    // 16 May to 30 June: 16 + 30 days
    expect(daysOf(fixed())).toBe(46)
    expect(daysOf(fixed(), fixed('2026-06-01'), { ...fixed(), per: 'YEAR', prorate: 'NONE' })).toBe(46)
    expect(daysOf(fixed('2026-06-27'))).toBe(4)
    expect(daysOf(fixed('2026-06-27'), fixed(undefined, '2026-05-20'), fixed('2026-06-29', '2027-01-01'))).toBe(8)
    expect(daysOf(fixed('2026-07-01'), fixed(undefined, '2026-05-16'))).toBe(0)
    expect(daysOf({ kind: 'USAGE' }, { kind: 'DEMAND' }, { kind: 'SESSION', per: 'SESSION' })).toBe(0)
  })

  it('are added up, and unknown if they are unknown in a part', () => {
    const { standingDays: _, ...unknown } = billed()
    expect(addBills(billed(), billed()).standingDays).toBe(92)
    expect([addBills(billed(), unknown), addBills(unknown, billed())].map(one => one.standingDays)).toEqual([
      undefined,
      undefined,
    ])
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
    expect(sum.months).toEqual(one.months.map(({ month, total }) => ({ month, total: 2n * total })))
    expect(sum.lines).toEqual(
      one.lines.map(line => ({
        ...line,
        quantity: line.quantity === null ? null : 2n * line.quantity,
        amount: 2n * line.amount,
        amountRounded: 2n * line.amountRounded,
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
