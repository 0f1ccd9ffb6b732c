import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PercentageCharge, SessionCharge } from '../../../../services/domain/charge/charge.ts'
import type { ExportedRecord } from '../../../../services/interchange/domain/exported-record.ts'
import { type CdrVersion, readCdrFrame } from '../../../../services/interchange/domain/ocpi/cdr-frame.ts'
import {
  chargingSessionOf,
  isNotExported,
  type SessionPricing,
} from '../../../../services/interchange/domain/ocpi/charging-session.ts'
import { writeCdr } from '../../../../services/interchange/domain/ocpi/write-cdr.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { cdrFrame } from '../../../support/interchange/cdr-frame.ts'

const minute = 60_000
const noon = Date.parse('2026-03-02T12:00:00Z')
const zone = timeZone('Europe/Amsterdam')
if (zone === null) throw new Error('no zone')
const noPricing: SessionPricing = { charges: [], taxes: [], timeZone: zone, calendar: null }

const record = (
  from: number,
  to: number,
  pieces: readonly (readonly [number, number, bigint, bigint])[],
  more: Partial<ExportedRecord> = {},
): ExportedRecord => ({
  id: `mre_${from}`,
  start: noon + from * minute,
  end: noon + to * minute,
  locationId: 'loc_1',
  deviceId: 'dev_1',
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  sessionReferenceId: 's-1',
  currencyCode: 'EUR',
  energy: pieces.reduce((sum, [, , energy]) => sum + energy, 0n),
  cost: pieces.reduce((sum, [, , , cost]) => sum + cost, 0n),
  confidence: 1_000_000,
  pieces: pieces.map(([start, end, energy, cost]) => ({
    start: noon + start * minute,
    end: noon + end * minute,
    energy,
    cost,
  })),
  ...more,
})

const fee = (change: Partial<SessionCharge>): SessionCharge => ({
  kind: 'SESSION',
  id: 'chg_1',
  planId: null,
  name: 'Fee',
  component: 'session',
  sequence: 0,
  startDay: null,
  endDay: null,
  price: 500_000_000n,
  per: 'SESSION',
  while: 'CONNECTED',
  afterMs: 0,
  count: 'EXACT',
  maxAmount: null,
  windows: [],
  deviceIds: null,
  ...change,
})
const vat = (change: Partial<PercentageCharge> = {}): PercentageCharge => ({
  kind: 'PERCENTAGE',
  id: 'chg_2',
  planId: null,
  name: 'VAT',
  component: 'tax',
  sequence: 200,
  startDay: null,
  endDay: null,
  rate: 210_000_000_000_000n,
  isTax: true,
  base: { kinds: null, components: null, directions: ['IMPORT'] },
  ...change,
})

const frame = readCdrFrame(cdrFrame, '2.2.1')
type Cdr = Readonly<Record<string, unknown>> & {
  readonly charging_periods: readonly {
    readonly start_date_time: string
    readonly dimensions: readonly { readonly type: string; readonly volume: number }[]
  }[]
}
const cdrOf = (
  records: readonly ExportedRecord[],
  pricing: SessionPricing = noPricing,
  version: CdrVersion = '2.2.1',
): Cdr => {
  const session = chargingSessionOf('s-1', records, pricing)
  if (isNotExported(session) || !('party' in frame)) throw new Error('not written')
  return JSON.parse(writeCdr(session, frame, version, noon))
}
const volumes = (cdr: Cdr, type: string): readonly number[] =>
  cdr.charging_periods.map(({ dimensions }) => dimensions.find(one => one.type === type)?.volume ?? Number.NaN)
/** Sum of numbers with 4 decimals, exactly. */
const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + Math.round(value * 10_000), 0) / 10_000

describe('a charge detail record', () => {
  const two = [
    record(0, 60, [
      [0, 30, 7_500_000_000n, 2_250_000_000n],
      [30, 60, 3_000_000_000n, 600_000_000n],
    ]),
  ]

  it('has a period with ENERGY and TIME for each piece', () => {
    const cdr = cdrOf(two)
    expect(cdr).toMatchObject({ id: 's-1', session_id: 's-1', currency: 'EUR', country_code: 'NL', party_id: 'WLG' })
    expect(cdr.charging_periods.map(one => one.start_date_time)).toEqual([
      '2026-03-02T12:00:00Z',
      '2026-03-02T12:30:00Z',
    ])
    expect(volumes(cdr, 'ENERGY')).toEqual([7.5, 3])
    expect(volumes(cdr, 'TIME')).toEqual([0.5, 0.5])
    // 2.25 + 0.60 = 2.85
    expect(cdr).toMatchObject({
      total_energy: 10.5,
      total_time: 1,
      total_energy_cost: { excl_vat: 2.85, incl_vat: 2.85 },
    })
  })

  it('has session charges where they belong, and their tax', () => {
    const charges = [
      fee({}),
      fee({ per: 'MINUTE', price: 20_000_000n }),
      fee({ per: 'MINUTE', while: 'IDLE', price: 100_000_000n }),
    ]
    // 15 minutes without energy follow: 75 minutes connected, 15 idle.
    const records = [...two, record(60, 75, [[60, 75, 0n, 0n]])]
    const cdr = cdrOf(records, { ...noPricing, charges, taxes: [vat()] })
    expect(cdr).toMatchObject({
      total_energy_cost: { excl_vat: 2.85, incl_vat: 3.4485 },
      total_fixed_cost: { excl_vat: 0.5, incl_vat: 0.605 },
      total_time_cost: { excl_vat: 1.5, incl_vat: 1.815 },
      total_parking_cost: { excl_vat: 1.5, incl_vat: 1.815 },
      total_cost: { excl_vat: 6.35, incl_vat: 7.6835 },
      total_time: 1.25,
    })
    expect(cdr.charging_periods).toHaveLength(3)
    const other = cdrOf(records, { ...noPricing, charges, taxes: [vat()] }, '2.3.0')
    expect(other['total_fixed_cost']).toEqual({
      before_taxes: 0.5,
      taxes: [{ name: 'VAT', percentage: 21, amount: 0.105 }],
    })
  })

  it('leaves out charges of other days and devices', () => {
    const charges = [fee({ endDay: 0 }), fee({ deviceIds: ['dev_2'] })]
    expect(cdrOf(two, { ...noPricing, charges })).not.toHaveProperty('total_fixed_cost')
  })

  it('fills times without a record', () => {
    const cdr = cdrOf([...two, record(90, 120, [[90, 120, 1_000_000_000n, 1n]])])
    expect(volumes(cdr, 'ENERGY')).toEqual([7.5, 3, 0, 1])
    expect(volumes(cdr, 'TIME')).toEqual([0.5, 0.5, 0.5, 0.5])
  })

  it.each([
    ['unpriced', [record(0, 1, [], { cost: null })]],
    ['direction', [record(0, 1, [], { tariffDirection: 'LOCAL' })]],
    ['currency', [...two, record(60, 61, [], { currencyCode: 'DKK' })]],
    ['overlap', [...two, record(50, 70, [[50, 70, 1n, 0n]])]],
  ] as const)('is not written: %s', (reason, records) => {
    expect(chargingSessionOf('s-1', records, noPricing)).toMatchObject({ id: 's-1', reason })
  })

  it('is not written for a long reference, or a tax of some components', () => {
    expect(chargingSessionOf('x'.repeat(37), two, noPricing)).toMatchObject({ reason: 'reference_too_long' })
    const taxes = [vat({ base: { kinds: null, components: ['grid'], directions: ['IMPORT'] } })]
    expect(chargingSessionOf('s-1', two, { ...noPricing, taxes })).toMatchObject({ reason: 'tax_of_components' })
  })

  it('adds up to the last digit', () => {
    const piece = fc.record({
      gap: fc.integer({ min: 0, max: 5_000_000 }),
      length: fc.integer({ min: 0, max: 5_000_000 }),
      energy: fc.bigInt({ min: 0n, max: 10n ** 11n }),
      cost: fc.bigInt({ min: -(10n ** 10n), max: 10n ** 10n }),
    })
    const charge = fc.constantFrom(fee({ price: 333_333_333n }), fee({ per: 'MINUTE', price: 12_345_679n }))
    const pricing = fc.record({
      charges: fc.array(charge, { maxLength: 3 }),
      rate: fc.bigInt({ min: 0n, max: 10n ** 9n }),
    })
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 30 }), pricing, (pieces, { charges, rate }) => {
        let at = noon
        const records = pieces.map(({ gap, length, energy, cost }, index) => {
          const start = at + gap
          at = start + length
          const one = { start, end: at, energy, cost }
          return record(0, 0, [], { ...one, id: `${index}`, pieces: [one] })
        })
        const cdr = cdrOf(records, { ...noPricing, charges, taxes: [vat({ rate })] }, '2.3.0')
        const energy = records.reduce((total, one) => total + one.energy, 0n)
        const first = records[0] as ExportedRecord
        expect(sum(volumes(cdr, 'ENERGY'))).toBe(cdr['total_energy'])
        expect(sum(volumes(cdr, 'TIME'))).toBe(cdr['total_time'])
        expect(Math.abs((cdr['total_energy'] as number) * 1e9 - Number(energy))).toBeLessThanOrEqual(50_001)
        expect(Math.abs((cdr['total_time'] as number) * 3_600_000 - (at - first.start))).toBeLessThanOrEqual(181)
        type Price = { readonly before_taxes: number; readonly taxes: readonly { readonly amount: number }[] }
        const names = ['energy', 'fixed', 'time', 'parking'].map(name => `total_${name}_cost`)
        const parts = names.flatMap(name => (cdr[name] === undefined ? [] : [cdr[name] as Price]))
        const total = cdr['total_cost'] as Price
        expect(sum(parts.map(part => part.before_taxes))).toBe(total.before_taxes)
        expect(sum(parts.flatMap(part => part.taxes.map(({ amount }) => amount)))).toBe(total.taxes[0]?.amount)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a frame', () => {
  it('names each missing, wrong and unknown member', () => {
    const { uid: _, ...token } = cdrFrame.token
    const faults = readCdrFrame({ ...cdrFrame, token: { ...token, type: 'CARD' }, vat: 'x' }, '2.2.1')
    expect(faults).toEqual([
      { path: '/token/uid', message: 'is missing' },
      { path: '/token/type', message: expect.stringContaining('RFID') },
      { path: '/vat', message: 'is unknown' },
    ])
    expect(readCdrFrame({}, '2.2.1')).toHaveLength(19)
    expect(readCdrFrame('text', '2.2.1')).not.toHaveProperty('party')
  })

  it('accepts only texts of the form that OCPI requires', () => {
    const { party, location } = cdrFrame
    const coordinates = { latitude: '52.09', longitude: 'east' }
    const faults = readCdrFrame(
      {
        ...cdrFrame,
        party: { ...party, country_code: 'nl', party_id: 'WL' },
        location: { ...location, country: 'NL', coordinates },
      },
      '2.2.1',
    )
    expect('party' in faults ? [] : faults.map(({ path }) => path)).toEqual([
      '/party/country_code',
      '/party/party_id',
      '/location/country',
      '/location/coordinates/latitude',
      '/location/coordinates/longitude',
    ])
  })

  it('knows EMAID tokens from version 2.3.0 on', () => {
    const withEmaid = { ...cdrFrame, token: { ...cdrFrame.token, type: 'EMAID' } }
    expect(readCdrFrame(withEmaid, '2.2.1')).toMatchObject([{ path: '/token/type' }])
    expect(readCdrFrame(withEmaid, '2.3.0')).toHaveProperty('token.type', 'EMAID')
  })

  it('knows the connector types of version 2.2.1, and takes others from version 2.3.0 on', () => {
    const isRead = (standard: string, version: CdrVersion): boolean =>
      'party' in
      readCdrFrame({ ...cdrFrame, location: { ...cdrFrame.location, connector_standard: standard } }, version)
    const known = [
      'CHADEMO',
      'IEC_62196_T1_COMBO',
      'IEC_62196_T3C',
      'IEC_60309_2_single_16',
      'DOMESTIC_O',
      'NEMA_14_50',
    ]
    const unknown = ['iec_62196_t2', 'IEC_62196_T2_', 'IEC_62196_T3A_COMBO', 'NEMA_5_50', 'Type 2', 'SAE_J3400', 'MCS']
    expect(known.filter(one => !isRead(one, '2.2.1'))).toEqual([])
    expect(unknown.filter(one => isRead(one, '2.2.1'))).toEqual([])
    expect([...known, ...unknown].filter(one => !isRead(one, '2.3.0'))).toEqual([])
  })
})
