import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { chargeCreation, readCharge } from '../../../../services/contract/charges/read-charge.ts'
import {
  chargeShape,
  chargeTermsShape,
  chargeToWire,
  writeCharge,
} from '../../../../services/contract/charges/write-charge.ts'
import { schemaOf } from '../../../../services/contract/openapi/schema-document.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'
import type { ChargeTerms } from '../../../../services/domain/charge/charge.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { charges } from '../../../support/bill-oracle/generate-charges.ts'
import { readChargeText } from '../../../support/charges/read-charge-text.ts'

const read = (body: object): ChargeTerms => acceptedValue(readChargeText(JSON.stringify({ name: 'Name', ...body })))

const refusalOf = (body: object) => {
  const result = readChargeText(JSON.stringify({ name: 'Name', ...body }))
  return result.ok ? null : result.refusal
}

const written = (terms: ChargeTerms): string => JSON.stringify(writeCharge(terms))

const listOf = <T>(count: number, entry: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => entry(index))

type Option = { readonly properties: { readonly kind: { readonly const: string } } }

/** Return the members of the charges of a kind, by a shape. */
const membersIn = (shape: z.ZodType, kind: string): readonly string[] => {
  const options = schemaOf(shape)['anyOf'] as readonly Option[]
  return Object.keys(options.find(({ properties }) => properties.kind.const === kind)?.properties ?? {})
}

const scope = {
  dates: fc.constantFrom('1900-01-01', '2026-02-28', '2026-03-01', '2028-02-29', '9999-12-31'),
  month: 2026 * 12,
}
const bodies = fc.oneof(
  charges({ ...scope, names: [] }),
  charges({ ...scope, names: ['Holidays', '#fair day'] }).filter(({ schedule }) => schedule === undefined),
)

describe('a charge', () => {
  it('that is written reads as the same charge', () => {
    fc.assert(
      fc.property(bodies, body => {
        const terms = acceptedValue(readChargeText(JSON.stringify(body)))
        expect(acceptedValue(readChargeText(written(terms)))).toEqual(terms)
      }),
      { numRuns: 300 },
    )
  })

  it('has exact numbers with nine decimals', () => {
    const text = '{"kind":"FIXED","name":"n","price":12345678.123456789,"quantity":0.000000001}'
    const terms = acceptedValue(readChargeText(text))
    expect(terms).toMatchObject({ price: 12_345_678_123_456_789n, quantity: 1n })
    expect(written(terms)).toContain('"price":12345678.123456789,"per":"DAY","quantity":0.000000001,')
  })

  it('has the defaults of its kind, and all its members are written', () => {
    expect(written(read({ kind: 'FIXED', price: 1.5 }))).toBe(
      '{"kind":"FIXED","name":"Name","component":"fixed","start_date":null,"end_date":null,"sequence":0,' +
        '"price":1.5,"per":"DAY","quantity":1,"unit":null,"prorate":"DAYS"}',
    )
    expect(JSON.parse(written(read({ kind: 'DEMAND', price: 9 })))).toEqual({
      kind: 'DEMAND',
      name: 'Name',
      component: 'demand',
      start_date: null,
      end_date: null,
      sequence: 0,
      counts: 'IMPORT',
      device_ids: null,
      interval_minutes: 60,
      windows: [],
      highest: 1,
      distinct_days: false,
      over: 'PERIOD',
      rolling_months: 12,
      rolling: 'MEAN',
      month_floor_kw: 0,
      ratchet: null,
      floor_kw: 0,
      above_kw: 0,
      round_kw: null,
      history: [],
      price: 9,
      tiers: null,
      steps: null,
      per: 'MONTH',
      step_edge: 'LOWER_INCLUSIVE',
      year_basis: 'MONTHS',
      prorate: 'DAYS',
    })
    expect(read({ kind: 'PERCENTAGE', rate: 0.19 })).toEqual({
      kind: 'PERCENTAGE',
      name: 'Name',
      component: 'tax',
      startDay: null,
      endDay: null,
      sequence: 200,
      rate: 190_000_000_000_000n,
      base: { kinds: null, components: null, directions: ['IMPORT'] },
      isTax: true,
    })
    expect(read({ kind: 'MAXIMUM', per_kwh: 0.2 })).toMatchObject({
      component: 'limit',
      sequence: 100,
      amount: 0n,
      perKwh: 200_000_000n,
      per: 'PERIOD',
    })
  })

  it('has windows of months, dates, days and hours', () => {
    const window = {
      months: ['Jan'],
      dates: [1, 31],
      days: ['Weekdays', 'Holidays', '#fair'],
      weight: 0.5,
      hours: [{ valid_from: '22:00:00', valid_to: '24:00:00' }],
    }
    expect(read({ kind: 'DEMAND', price: 1, windows: [window, { months: ['All'] }] })).toMatchObject({
      windows: [
        { ...window, weight: 500_000_000, hours: [{ validFrom: 79_200, validTo: 86_400 }] },
        { months: [], dates: [], days: [], hours: [], weight: 1_000_000_000 },
      ],
    })
  })

  it('is written with the members of its shape, as a plan and a location show it', () => {
    const view = { id: 'chg_1', accountId: 'acc_1', liveMode: true, createdAt: 0, locationId: 'loc_1', planId: null }
    for (const body of [
      { kind: 'USAGE', price: 1 },
      { kind: 'SESSION', price: 1 },
      { kind: 'MAXIMUM', amount: 1 },
    ]) {
      const terms = read(body)
      expect(membersIn(chargeTermsShape, body.kind)).toEqual(Object.keys(JSON.parse(written(terms))))
      const shown = JSON.parse(JSON.stringify(chargeToWire({ ...view, terms })))
      expect(membersIn(chargeShape, body.kind)).toEqual(Object.keys(shown))
      expect(shown).toMatchObject({
        id: 'chg_1',
        object: 'charge',
        location_id: 'loc_1',
        plan_id: null,
        live_mode: true,
      })
    }
  })

  it('of a location has its location', () => {
    const shaped = readShape(chargeCreation, { location_id: 'loc_1', kind: 'FIXED', name: 'n', price: 1 }, 'body')
    expect(readCharge(acceptedValue(shaped))).toMatchObject({
      value: { locationId: 'loc_1', terms: { kind: 'FIXED', price: 1_000_000_000n } },
    })
  })
})

const entry = { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 1 }] }] }] }

describe('a charge is refused', () => {
  it.each([
    [{}, 'field_required', 'kind', 'kind is required'],
    [{ kind: 'TAX' }, 'field_invalid', 'kind', 'kind must be FIXED, USAGE, DEMAND, SESSION, MINIMUM, MAXIMUM'],
    [{ kind: 'FIXED' }, 'field_required', 'price', 'price is required'],
    [{ kind: 'FIXED', price: 1, tiers: [] }, 'unknown_field', 'tiers', '"tiers" is not known here'],
    [{ kind: 'FIXED', price: 1, prorata: 'NONE' }, 'unknown_field', 'prorata', 'did you mean prorate?'],
    [{ kind: 'FIXED', price: '1' }, 'field_invalid', 'price', 'price must be a number'],
    [{ kind: 'FIXED', price: 1e-10 }, 'field_invalid', 'price', '9 decimals'],
    [{ kind: 'FIXED', price: 1, start_date: '2026-02-29' }, 'field_invalid', 'start_date', 'YYYY-MM-DD'],
    [{ kind: 'FIXED', price: 1, start_date: '1899-12-31' }, 'field_invalid', 'start_date', '1900-01-01'],
    [{ kind: 'PERCENTAGE', rate: 19 }, 'value_out_of_range', 'rate', 'write 0.19 for 19 percent'],
    [{ kind: 'USAGE', schedule: [] }, 'price_missing', 'price', 'Set one of price, schedule'],
    [{ kind: 'USAGE', schedule: [{ days_and_hours: [] }] }, 'schedule_invalid', 'schedule[0].days_and_hours', 'empty'],
    [{ kind: 'MINIMUM' }, 'price_missing', 'amount', 'Set amount, per_kwh, or both'],
    [{ kind: 'DEMAND', price: 1, interval_minutes: 20 }, 'interval_not_supported', 'interval_minutes', '15, 30, 60'],
    [
      { kind: 'DEMAND', price: 1, history: [{ month: '2026-13', kw: 1 }] },
      'charge_invalid',
      'history[0].month',
      'YYYY',
    ],
    [{ kind: 'DEMAND', price: 1, round_kw: { to: 0 } }, 'value_out_of_range', 'round_kw.to', 'from 0.000000001'],
  ])('%j', (body, code, field, message) => {
    const refusal = refusalOf(body)
    expect(refusal).toMatchObject({ code, field })
    expect(refusal?.message).toContain(message)
  })

  it.each([
    [{ months: ['January'] }, 'field_invalid', 'months[0]'],
    [{ months: ['All', 'Jan'] }, 'charge_invalid', 'months'],
    [{ months: ['Jan', 'Jan'] }, 'charge_invalid', 'months[1]'],
    [{ dates: [32] }, 'value_out_of_range', 'dates[0]'],
    [{ days: ['Monday'] }, 'charge_invalid', 'days[0]'],
    [{ days: ['#'] }, 'charge_invalid', 'days[0]'],
    [{ hours: [{ valid_from: '08:00', valid_to: '09:00:00' }] }, 'charge_invalid', 'hours[0].valid_from'],
    [{ hours: [{ valid_from: '08:00:00', valid_to: '08:00:00' }] }, 'charge_invalid', 'hours[0].valid_to'],
    [{ hours: [{ valid_from: '24:00:00', valid_to: '08:00:00' }] }, 'charge_invalid', 'hours[0].valid_from'],
    [{ weight: 1.1 }, 'value_out_of_range', 'weight'],
  ])('if a window has %j', (window, code, field) => {
    for (const kind of ['DEMAND', 'SESSION'])
      expect(refusalOf({ kind, price: 1, windows: [{}, window] })).toMatchObject({ code, field: `windows[1].${field}` })
  })

  const demand = { kind: 'DEMAND', price: 1 }
  const { price: _, ...priceless } = demand
  const numbers: readonly [string, object, string, number, number][] = [
    ['highest', demand, 'highest', 1, 100],
    ['rolling_months', demand, 'rolling_months', 2, 24],
    ['sequence', demand, 'sequence', 0, 999],
    ['after_minutes', { kind: 'SESSION', price: 1 }, 'after_minutes', 0, 527_040],
    ['rate', { kind: 'PERCENTAGE' }, 'rate', -1, 5],
    ['price of energy', { kind: 'USAGE' }, 'price', -1_000_000, 1_000_000],
    ['price', { kind: 'FIXED' }, 'price', -1_000_000_000, 1_000_000_000],
    ['floor_kw', demand, 'floor_kw', 0, 1_000_000_000],
  ]
  it.each(numbers)('if %s is outside of its limits', (_name, body, member, min, max) => {
    for (const value of [min, max]) expect(refusalOf({ ...body, [member]: value })).toBeNull()
    for (const value of [min - 1, max + 1])
      expect(refusalOf({ ...body, [member]: value })).toMatchObject({ code: 'value_out_of_range', field: member })
  })

  it.each([
    ['share', 0, 2],
    ['months', 1, 24],
  ])('if %s of the ratchet is outside of its limits', (member, min, max) => {
    const refusal = (value: number) => refusalOf({ ...demand, ratchet: { share: 1, months: 1, [member]: value } })
    expect([refusal(min), refusal(max)]).toEqual([null, null])
    for (const value of [min - 1, max + 1])
      expect(refusal(value)).toMatchObject({ code: 'value_out_of_range', field: `ratchet.${member}` })
  })

  const lists: readonly [string, object, string, number, (index: number) => unknown][] = [
    ['tiers', priceless, 'tiers', 50, index => ({ price: 1, ...(index < 49 ? { to_kw: index + 1 } : {}) })],
    ['steps', priceless, 'steps', 50, index => ({ from_kw: index, amount: 1 })],
    ['windows', demand, 'windows', 50, () => ({})],
    [...(['history', demand, 'history', 24] as const), index => ({ month: `20${String(10 + index)}-01`, kw: 1 })],
    ['device_ids', demand, 'device_ids', 100, index => `dev_${index}`],
  ]
  it.each(lists)('if it has too many %s', (_name, body, member, max, entryOf) => {
    expect(refusalOf({ ...body, [member]: listOf(max, entryOf) })).toBeNull()
    expect(refusalOf({ ...body, [member]: listOf(max + 1, entryOf) })).toEqual({
      code: 'charge_invalid',
      field: member,
      message: `${member} must have at most ${max} entries`,
    })
  })

  it.each([
    [
      'windows[0].hours',
      (count: number) => ({
        ...demand,
        windows: [{ hours: listOf(count, () => ({ valid_from: '08:00:00', valid_to: '09:00:00' })) }],
      }),
    ],
    [
      'base.components',
      (count: number) => ({ kind: 'PERCENTAGE', rate: 0.1, base: { components: listOf(count, index => `c${index}`) } }),
    ],
  ])('if %s has more than 50 entries', (field, body) => {
    expect(refusalOf(body(50))).toBeNull()
    expect(refusalOf(body(51))).toEqual({
      code: 'charge_invalid',
      field,
      message: expect.stringContaining('must have at most 50 entries'),
    })
  })

  it('if its name or component has no character or too many', () => {
    const refusal = (members: object) => refusalOf({ kind: 'FIXED', price: 1, ...members })
    expect([refusal({ component: 'c'.repeat(64) }), refusal({ name: 'n'.repeat(255) })]).toEqual([null, null])
    expect(refusal({ component: 'c'.repeat(65) })).toMatchObject({ code: 'field_too_long', field: 'component' })
    expect(refusal({ component: '' })).toMatchObject({ code: 'field_invalid', field: 'component' })
    expect(refusal({ name: 'n'.repeat(256) })).toMatchObject({ code: 'field_too_long', field: 'name' })
    expect(refusal({ name: null })).toMatchObject({ field: 'name' })
  })

  it('if its schedule has more than 400 entries', () => {
    const dates = listOf(400, index => ({
      ...entry,
      months: [['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][index % 12]],
      dates: [1 + (Math.floor(index / 12) % 31)],
    }))
    expect(refusalOf({ kind: 'USAGE', schedule: dates })?.message ?? '').not.toContain('400')
    expect(refusalOf({ kind: 'USAGE', schedule: listOf(401, () => entry) })).toMatchObject({
      code: 'schedule_invalid',
      field: 'schedule',
    })
  })
})
