import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refuseFixedChange } from '../../../../services/contract/fixed-member.ts'
import { parseJson } from '../../../../services/contract/json/strict-json.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'
import { tariffCreate, tariffDelete, tariffToWire, tariffUpdate } from '../../../../services/contract/tariffs/tariff.ts'
import { readTariffDraft, tariffCreation } from '../../../../services/contract/tariffs/tariff-draft.ts'
import type { Result } from '../../../../services/domain/refusal.ts'

const allDay = (rate: unknown) => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
  },
]
const body = { location_id: 'loc_1', direction: 'IMPORT', type: 'COMMODITY', schedule: allDay([{ fixed: 0.3 }]) }

/** Parse and read a body, so that numbers keep their text. */
const read = (text: string) => {
  const parsed: Result<unknown> = parseJson(new TextEncoder().encode(text))
  return parsed.ok ? verify(parsed.value) : parsed
}

const verify = (sent: unknown) => {
  const shaped = readShape(tariffCreation, sent, 'body')
  return shaped.ok ? readTariffDraft(shaped.value) : shaped
}

const written = (...tariff: Parameters<typeof tariffToWire>) => tariffToWire(...tariff)

describe('the body that creates a tariff', () => {
  it('has exact prices with nine decimals', () => {
    const text = JSON.stringify(body).replace('0.3', '900719.925474099')
    expect(read(text)).toMatchObject({
      ok: true,
      value: { terms: { schedule: [{ daysAndHours: [{ hours: [{ rate: [{ fixed: 900_719_925_474_099n }] }] }] }] } },
    })
  })

  it('has contract dates as instants, and optional names', () => {
    expect(read(JSON.stringify({ ...body, contract_start_date: '2025-01-01T00:00:00+01:00' }))).toMatchObject({
      ok: true,
      value: {
        locationId: 'loc_1',
        displayName: null,
        providerId: null,
        timezone: null,
        terms: { marketRates: false, contractStart: Date.UTC(2024, 11, 31, 23), contractEnd: null },
      },
    })
  })

  it('has the market price at all times if it follows the market and has no schedule', () => {
    const market = read(JSON.stringify({ ...body, market_rates: true, schedule: undefined }))
    const written = read(JSON.stringify({ ...body, market_rates: true, schedule: allDay([{}]) }))
    expect(market).toEqual(written)
    expect(market).toMatchObject({
      ok: true,
      value: { terms: { marketRates: true, schedule: [{ daysAndHours: [{ days: ['All'] }] }] } },
    })
    expect(read(JSON.stringify({ ...body, market_rates: true, schedule: null }))).toEqual(written)
    for (const market_rates of [undefined, null, false]) {
      expect(read(JSON.stringify({ ...body, market_rates, schedule: undefined }))).toMatchObject({
        refusal: { code: 'field_required', field: 'schedule' },
      })
    }
  })

  it('reads a null to_kwh as absent', () => {
    const tiers = [
      { fixed: 0.3, to_kwh: 10, surcharge_fixed: null },
      { fixed: 0.2, to_kwh: null },
    ]
    expect(read(JSON.stringify({ ...body, schedule: allDay(tiers) }))).toEqual(
      read(JSON.stringify({ ...body, schedule: allDay([{ fixed: 0.3, to_kwh: 10 }, { fixed: 0.2 }]) })),
    )
    expect(
      read(JSON.stringify({ ...body, schedule: allDay([{ fixed: 0.3, to_kwh: null }, { fixed: 0.2 }]) })),
    ).toMatchObject({
      refusal: { code: 'schedule_invalid', field: expect.stringContaining('rate[0].to_kwh') },
    })
  })

  it.each([
    ['no location', { location_id: undefined }, 'field_required', 'location_id'],
    ['an unknown direction', { direction: 'BOTH' }, 'field_invalid', 'direction'],
    ['grid fees on export', { direction: 'EXPORT', type: 'NON_COMMODITY' }, 'field_invalid', 'direction'],
    ['a market tariff for own generation', { direction: 'LOCAL', market_rates: true }, 'field_invalid', 'market_rates'],
    ['a connection that only Connect makes', { connection_type: 'DIRECT' }, 'field_invalid', 'connection_type'],
    ['a status', { status: 'CONNECTED' }, 'unknown_field', 'status'],
    ['is_linked', { is_linked: true }, 'unknown_field', 'is_linked'],
    ['the direction under its name for records', { tariff_direction: 'IMPORT' }, 'unknown_field', 'tariff_direction'],
    [
      'an end before the start',
      { contract_start_date: '2025-01-02T00:00:00Z', contract_end_date: '2025-01-02T00:00:00Z' },
      'end_before_start',
      'contract_end_date',
    ],
    [
      'percent instead of a fraction',
      { schedule: allDay([{ fixed: 1, surcharge_percentage: 19 }]) },
      'value_out_of_range',
      'schedule[0].days_and_hours[0].hours[0].rate[0].surcharge_percentage',
    ],
    [
      'ten decimals',
      { schedule: allDay([{ fixed: 0.0000000001 }]) },
      'field_invalid',
      'schedule[0].days_and_hours[0].hours[0].rate[0].fixed',
    ],
    [
      'a price as a text',
      { schedule: allDay([{ fixed: '0.3' }]) },
      'field_invalid',
      'schedule[0].days_and_hours[0].hours[0].rate[0].fixed',
    ],
    [
      'an unknown rate member',
      { schedule: allDay([{ fixed: 1, to_kw: 3 }]) },
      'unknown_field',
      'schedule[0].days_and_hours[0].hours[0].rate[0].to_kw',
    ],
    ['no schedule', { schedule: [] }, 'schedule_invalid', 'schedule'],
  ])('refuses %s', (_, change, code, field) => {
    expect(verify({ ...body, ...change })).toMatchObject({ ok: false, refusal: { code, field } })
  })
})

describe('the body that changes a tariff', () => {
  const changeable = ['display_name', 'provider_id', 'contract_end_date']

  it.each(
    Object.keys(tariffCreate.answer.shape.shape).filter(name => !changeable.includes(name) && name !== 'schedule'),
  )('repeats %s, and cannot change it', name => {
    const read = readShape(tariffUpdate.body ?? tariffCreation, { [name]: 'other' }, 'body')
    expect(read).toMatchObject({ ok: true })
    const stored = { [name]: 'own' }
    expect(refuseFixedChange({ [name]: 'own' }, stored, changeable)).toBeNull()
    expect(refuseFixedChange({ [name]: 'other' }, stored, changeable)).toMatchObject({
      code: 'field_immutable',
      field: name,
    })
  })

  it.each(changeable)('clears %s by null', name => {
    expect(readShape(tariffUpdate.body ?? tariffCreation, { [name]: null }, 'body')).toEqual({
      ok: true,
      value: { [name]: null },
    })
  })
})

describe('a tariff on the wire', () => {
  const nano = fc.bigInt({ min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n })

  it('returns every price that a caller can write', () => {
    fc.assert(
      fc.property(nano, nano, (fixed, surchargeFixed) => {
        const hours = [
          { validFrom: 0, validTo: 86_400, rate: [{ fixed, to: null, surchargeFixed, surchargePercentage: 0n }] },
        ]
        const schedule = [{ months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] }]
        const again = read(JSON.stringify({ ...body, schedule: written({ ...view, schedule }, 0).schedule }))
        expect(again).toMatchObject({ ok: true, value: { terms: { schedule } } })
      }),
      { numRuns: 200 },
    )
  })

  it('has the dates of its entries only outside lists', () => {
    expect(written(view, 0).schedule[0]).toMatchObject({ dates: [1, 15] })
    expect(written(view, 0, { inList: true }).schedule[0]).not.toHaveProperty('dates')
  })

  it('writes the end of the day as 00:00:00', () => {
    expect(written(view, 0).schedule[0]?.days_and_hours[0]?.hours[0]).toMatchObject({
      valid_from: '06:30:05',
      valid_to: '00:00:00',
    })
  })
})

describe('void', () => {
  it.each([
    ['True', true],
    ['0', false],
    [undefined, false],
  ])('reads %s as %s', (written, meant) => {
    expect(
      readShape(tariffDelete.query ?? tariffCreation, written === undefined ? {} : { void: written }, 'query'),
    ).toMatchObject({
      ok: true,
      value: { void: meant },
    })
  })
})

const view: Parameters<typeof tariffToWire>[0] = {
  id: 'trf_1',
  accountId: 'acc_1',
  liveMode: false,
  locationId: 'loc_1',
  timezone: 'Europe/Berlin',
  connectionType: 'MANUAL',
  direction: 'IMPORT',
  type: 'COMMODITY',
  status: 'CONNECTED',
  displayName: null,
  providerId: null,
  marketRates: false,
  planId: null,
  planVersion: null,
  component: 'energy',
  contractStart: null,
  contractEnd: null,
  schedule: [
    {
      months: ['All'],
      dates: [1, 15],
      daysAndHours: [
        {
          days: ['All'],
          hours: [
            {
              validFrom: 23_405,
              validTo: 86_400,
              rate: [{ fixed: 1n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
            },
          ],
        },
      ],
    },
  ],
  createdAt: 0,
}
