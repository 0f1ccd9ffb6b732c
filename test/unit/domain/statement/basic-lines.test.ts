import { describe, expect, it } from 'vitest'
import { createMeteredEnergy } from '../../../../services/domain/statement/metered-energy.ts'
import type { BillCase } from '../../../support/acceptance/bill-cases.ts'
import { billOf, chargeLines, decimal, flat, inputOf, shown, statementOf, used } from './bill.ts'

const june = used('2026-06-01T00:00', '2026-07-01T00:00', '720')

describe('a FIXED charge', () => {
  const fixed = (members: object) =>
    chargeLines(billOf({ charges: [{ kind: 'FIXED', name: 'f', price: '10', ...members }] }))

  it('is paid by days, by days of the month, and by days of the year', () => {
    expect(fixed({ per: 'DAY' })).toEqual([['f', '30', '300', '300']])
    expect(fixed({ per: 'MONTH', start_date: '2026-06-11' })).toEqual([
      ['f', '0.666666667', '6.666666667', '6.666666667'],
    ])
    expect(fixed({ per: 'YEAR', quantity: '2' })).toEqual([['f', '0.164383562', '1.643835616', '1.643835616']])
  })

  it('without proration is paid on the first day of each unit, or on its first day', () => {
    expect(fixed({ per: 'MONTH', prorate: 'NONE' })).toEqual([['f', '1', '10', '10']])
    expect(fixed({ per: 'YEAR', prorate: 'NONE' })).toEqual([['f', '0', '0', '0']])
    expect(fixed({ per: 'YEAR', prorate: 'NONE', start_date: '2026-06-30' })).toEqual([['f', '1', '10', '10']])
    expect(fixed({ per: 'MONTH', prorate: 'NONE', start_date: '2026-05-30', end_date: '2026-06-02' })).toEqual([
      ['f', '1', '10', '10'],
    ])
  })

  it('has no line without a paid day', () => {
    expect(fixed({ end_date: '2026-06-01' })).toEqual([])
  })
})

describe('a USAGE charge', () => {
  const hours = (valid_from: string, valid_to: string, fixed: string) => ({ valid_from, valid_to, rate: [{ fixed }] })
  const schedule = [
    { days_and_hours: [{ hours: [hours('06:00:00', '18:00:00', '0.3'), hours('18:00:00', '06:00:00', '0.1')] }] },
  ]
  const usage = (members: object, records = [june]) =>
    chargeLines(billOf({ charges: [{ kind: 'USAGE', name: 'u', ...members }], records }))

  it('has a line for each price that met energy, by rising price', () => {
    expect(usage({ schedule })).toEqual([
      ['u', '360', '36', '36'],
      ['u', '360', '108', '108'],
    ])
    expect(usage({ schedule }, [used('2026-06-01T17:00', '2026-06-01T18:00', '2')])).toEqual([['u', '2', '0.6', '0.6']])
  })

  it('has one line of 0 at the lowest price without energy', () => {
    const [line] = billOf({ charges: [{ kind: 'USAGE', name: 'u', schedule }] }).periods[0]?.lines ?? []
    expect([decimal(line?.unitPrice ?? null), line?.amount, line?.quantity]).toEqual(['0.1', 0n, 0n])
  })

  it('counts the days of its validity, and cuts records in cumulative shares', () => {
    expect(usage({ price: '0.01', start_date: '2026-06-30' })).toEqual([['u', '24', '0.24', '0.24']])
  })

  it('nets bought and sold energy in each hour', () => {
    const records = [
      used('2026-06-01T10:00', '2026-06-01T11:00', '4'),
      used('2026-06-01T10:30', '2026-06-01T11:30', '6', { energy_flow_direction: 'OUTBOUND' }),
      used('2026-06-01T11:00', '2026-06-01T12:00', '1'),
    ]
    // 4 − 3 = 1 in the first hour, 1 − 3 < 0 in the second
    expect(usage({ price: '1', counts: 'NET_IMPORT' }, records)).toEqual([['u', '1', '1', '1']])
  })

  it('counts records without a price, and leaves out what actuals took of an estimate', () => {
    expect(
      chargeLines(
        billOf({
          tariffs: [flat('1', { contract_start_date: '2026-06-02T00:00:00Z' })],
          charges: [{ kind: 'USAGE', name: 'u', price: '1' }],
          records: [june],
        }),
      ),
    ).toEqual([['u', '720', '720', '720']])
    const input = inputOf({ charges: [{ kind: 'USAGE', name: 'u', price: '1' }], records: [june] })
    const [record] = input.metered.flows.IMPORT.records
    if (record === undefined) throw new Error('The input has no record.')
    // One of 30 days is covered: 720 − 24
    const covered = [{ start: Date.UTC(2026, 5, 3), end: Date.UTC(2026, 5, 4) }]
    const metered = createMeteredEnergy([{ ...record, covered }], input.metered)
    expect(chargeLines(statementOf({ ...input, metered }))).toEqual([['u', '696', '696', '696']])
  })

  it('reads the named devices, and other records of the statement otherwise', () => {
    const device = used('2026-06-01T10:00', '2026-06-01T11:00', '2', { device_id: 'dev_1' })
    expect(usage({ price: '1' }, [june, device] as never)).toEqual([['u', '720', '720', '720']])
    expect(usage({ price: '1', device_ids: ['dev_1'] }, [june, device] as never)).toEqual([['u', '2', '2', '2']])
  })
})

describe('a SESSION charge', () => {
  const part = (session: string, start: string, end: string, value: string) =>
    used(start, end, value, { device_id: 'dev_1', session_reference_id: session })
  const records = [
    // Connected 10:00 to 12:00, with energy until 10:30
    part('a', '2026-06-01T10:00', '2026-06-01T10:30', '5'),
    part('a', '2026-06-01T10:30', '2026-06-01T12:00', '0'),
    // Over the end of the month
    part('b', '2026-06-30T23:00', '2026-07-01T01:00', '5'),
    // From the month before, without energy
    part('c', '2026-05-31T23:00', '2026-06-01T00:00', '0'),
  ]
  const session = (members: object) =>
    chargeLines(billOf({ charges: [{ kind: 'SESSION', name: 's', price: '0.1', ...members }], records }))

  it('is paid once for each session that ends on a paid day', () => {
    expect(session({})).toEqual([['s', '2', '0.2', '0.2']])
    expect(session({ start_date: '2026-06-02' })).toEqual([['s', '0', '0', '0']])
  })

  it('is paid for connected or idle minutes, after some minutes, up to an amount', () => {
    // a: 120, c: 60; idle a: 90, c: 60 from its start
    expect(session({ per: 'MINUTE' })).toEqual([['s', '180', '18', '18']])
    expect(session({ per: 'MINUTE', while: 'IDLE' })).toEqual([['s', '150', '15', '15']])
    expect(session({ per: 'MINUTE', while: 'IDLE', after_minutes: '70' })).toEqual([['s', '20', '2', '2']])
    expect(session({ per: 'MINUTE', max_amount: '7.5' })).toEqual([['s', '180', '13.5', '13.5']])
  })

  it('counts the minutes in windows, and pays a session only if it has some', () => {
    const windows = [{ hours: [{ valid_from: '11:00:00', valid_to: '23:30:00' }] }]
    // a: 60 from 11:00, c: 30 from 23:00
    expect(session({ per: 'MINUTE', windows })).toEqual([['s', '90', '9', '9']])
    expect(session({ windows: [{ hours: [{ valid_from: '11:00:00', valid_to: '12:00:00' }] }] })).toEqual([
      ['s', '1', '0.1', '0.1'],
    ])
  })
})

describe('energy', () => {
  it('has the component of the last contract that starts before the end of the period, if nothing is priced', () => {
    const records = [used('2026-06-05T10:00', '2026-06-05T11:00', '3')]
    const componentOf = (contract_start_date: string) => {
      const tariffs = [flat('0.2', { contract_start_date, component: 'supplier' })]
      return billOf({ tariffs, records }).periods[0]?.lines.map(({ component, amount }) => [component, amount])
    }
    expect(componentOf('2026-06-30T23:59:59Z')).toEqual([['supplier', 0n]])
    expect(componentOf('2026-07-01T00:00:00Z')).toEqual([['energy', 0n]])
  })

  it('adds up to the cost of its days if opposite changes of both prices hide in a piece', () => {
    const halves = (first: string, last: string, type: 'COMMODITY' | 'NON_COMMODITY') => {
      const hours = [
        { valid_from: '06:00:00', valid_to: '20:00:00', rate: [{ fixed: first }] },
        { valid_from: '20:00:00', valid_to: '06:00:00', rate: [{ fixed: last }] },
      ]
      return flat('0', { type, schedule: [{ days_and_hours: [{ hours }] }] })
    }
    const hidden = [halves('0.123456789', '0.2', 'COMMODITY'), halves('0.2', '0.123456789', 'NON_COMMODITY')]
    const days = ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04']
    const periods = days.slice(1).map((end_date, index) => ({ start_date: days[index], end_date }))
    const statement = { start_date: '2026-06-01', end_date: '2026-06-04', periods }
    for (let minute = 0; minute < 20; minute += 1) {
      const records = [used(`2026-06-01T09:${10 + minute}`, '2026-06-03T03:07', `7.00000${minute}`)]
      const netOf = (tariffs: BillCase['tariffs']) =>
        billOf({ tariffs, records, statement }).periods.map(({ totals }) => totals.net)
      expect(netOf(hidden)).toEqual(netOf([flat('0.323456789')]))
    }
  })

  it('has a line per component, then sold energy, and a memo of the rest', () => {
    const tariffs = [
      flat('0.3'),
      flat('0.05', { type: 'NON_COMMODITY' }),
      flat('0.08', { direction: 'EXPORT' }),
      flat('0.02', { direction: 'LOCAL' }),
    ]
    const hour = ['2026-06-01T10:00', '2026-06-01T11:00'] as const
    const records = [
      used(...hour, '10'),
      used(...hour, '4', { energy_flow_direction: 'OUTBOUND' }),
      used(...hour, '3', { tariff_direction: 'LOCAL' }),
      used(...hour, '2', { energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }),
    ]
    const { periods, memo, totals } = billOf({ tariffs, records })
    expect(shown(periods[0]?.lines ?? [])).toEqual([
      ['Energy', '10', '3', '3'],
      ['Grid fee', '10', '0.5', '0.5'],
      ['Energy export', '4', '-0.32', '-0.32'],
    ])
    expect(decimal(totals.gross)).toBe('3.18')
    expect(
      memo.map(({ tariffDirection, quantity, amount }) => [tariffDirection, decimal(quantity), decimal(amount)]),
    ).toEqual([
      ['LOCAL', '3', '0.06'],
      ['IMPORT', '2', '0.7'],
    ])
    expect(periods[0]?.lines.map(line => [line.tariffId, decimal(line.unitPrice)])).toEqual([
      ['trf_0', '0.3'],
      ['trf_1', '0.05'],
      ['trf_2', '-0.08'],
    ])
  })

  it('lists its prices if they are requested', () => {
    const hours = (valid_from: string, valid_to: string, fixed: string) => ({ valid_from, valid_to, rate: [{ fixed }] })
    const schedule = [
      { days_and_hours: [{ hours: [hours('06:00:00', '18:00:00', '0.3'), hours('18:00:00', '06:00:00', '0.1')] }] },
    ]
    const tariffs = [flat('0', { schedule }), flat('0.05', { type: 'NON_COMMODITY' })]
    const details = (detail: object) =>
      billOf({
        tariffs,
        records: [june],
        statement: { start_date: '2026-06-01', end_date: '2026-07-01', ...detail },
      }).periods[0]?.lines.map(({ prices, unitPrice }) => [
        decimal(unitPrice),
        prices?.map(({ price, energy, amount }) => [price, energy, amount].map(decimal)) ?? null,
      ])
    expect(details({ detail: 'PRICE' })).toEqual([
      [
        null,
        [
          ['0.1', '360', '36'],
          ['0.3', '360', '108'],
        ],
      ],
      ['0.05', [['0.05', '720', '36']]],
    ])
    expect(details({})).toEqual([
      [null, null],
      ['0.05', null],
    ])
  })

  it('has no line in a direction without records', () => {
    expect(billOf({}).periods[0]?.lines).toEqual([])
  })

  it('of a tariff with a component of its own has its own line', () => {
    const input = inputOf({ tariffs: [flat('0.3'), flat('0.1', { type: 'NON_COMMODITY' })], records: [june] })
    const named = (component: string) => input.tariffs.map(tariff => ({ ...tariff, component }))
    const lines = (tariffs: typeof input.tariffs) =>
      statementOf({ ...input, tariffs }).periods[0]?.lines.map(line => [line.component, decimal(line.amount)])
    expect(lines([{ ...input.tariffs[0], component: 'supplier' } as never, input.tariffs[1] as never])).toEqual([
      ['supplier', '216'],
      ['grid', '72'],
    ])
    expect(lines(named('all'))).toEqual([['all', '288']])
  })
})
