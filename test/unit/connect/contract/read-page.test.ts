import { describe, expect, it } from 'vitest'
import {
  type PageData,
  readAddress,
  readCost,
  readHours,
  readId,
  readName,
  readRegion,
  readStructure,
  readSurcharge,
  readTerm,
} from '../../../../services/connect/contract/read-page.ts'
import type { Result } from '../../../../services/domain/refusal.ts'

const codeOf = (read: Result<unknown>): string => (read.ok ? 'taken' : read.refusal.code)
const home = { address_line1: '1 High Street', city: 'London', post_code: 'N1', country_code: 'gb' }
const period = (valid_from: string, valid_to: string, cost = '0.2') => ({ valid_from, valid_to, cost })

const cases: readonly (readonly [string, (data: PageData) => Result<unknown>, PageData, string])[] = [
  ['a whole address', data => readAddress(data, {}), { postal_address: home }, 'taken'],
  [
    'an address that is not an object',
    data => readAddress(data, {}),
    { postal_address: 'London' },
    'data_json_invalid',
  ],
  [
    'a city that is a list',
    data => readAddress(data, {}),
    { postal_address: { ...home, city: [] } },
    'data_json_invalid',
  ],
  [
    'a blank street',
    data => readAddress(data, { address_line1: 'known' }),
    { postal_address: { ...home, address_line1: ' ' } },
    'address_line1_missing',
  ],
  ['no city', data => readAddress(data, {}), { postal_address: { ...home, city: undefined } }, 'city_missing'],
  ['no post code', data => readAddress(data, {}), { postal_address: { ...home, post_code: '' } }, 'post_code_missing'],
  [
    'no country',
    data => readAddress(data, {}),
    { postal_address: { ...home, country_code: null } },
    'country_code_missing',
  ],
  [
    'a country of three letters',
    data => readAddress(data, {}),
    { postal_address: { ...home, country_code: 'GBR' } },
    'country_code_invalid',
  ],
  ['no provider', data => readId(data, 'provider', 'provider_id_missing'), {}, 'provider_id_missing'],
  [
    'a provider that is a text',
    data => readId(data, 'provider', 'provider_id_missing'),
    { provider: 'prv_1' },
    'data_json_invalid',
  ],
  [
    'a blank name',
    data => readName(data, 'tariff', 'tariff_name_missing'),
    { tariff: { name: ' ' } },
    'tariff_name_missing',
  ],
  ['one option', readStructure, { options: ['FIXED'] }, 'taken'],
  ['no option', readStructure, { options: [] }, 'option_invalid'],
  ['two options', readStructure, { options: ['FIXED', 'MARKET'] }, 'option_invalid'],
  ['an unknown option', readStructure, { options: ['CHEAP'] }, 'option_invalid'],
  ['options that are a text', readStructure, { options: 'FIXED' }, 'data_json_invalid'],
  ['a cost', readCost, { cost: '0.2455' }, 'taken'],
  ['a cost of zero', readCost, { cost: '0.000' }, 'cost_value_zero'],
  ['a negative cost', readCost, { cost: '-0.1' }, 'cost_value_negative'],
  ['a cost that is null', readCost, { cost: null }, 'data_json_invalid'],
  ['a cost that is not a number', readCost, { cost: 'cheap' }, 'data_json_invalid'],
  [
    'a day and a night that wraps',
    readHours,
    { hours: [period('23:30:00', '07:00:00'), period('07:00:00', '23:30:00')] },
    'taken',
  ],
  ['one whole day', readHours, { hours: [period('00:00:00', '00:00:00')] }, 'taken'],
  ['times without seconds', readHours, { hours: [period('00:00', '12:00'), period('12:00', '24:00')] }, 'taken'],
  [
    'an untouched form',
    readHours,
    { hours: [period('00:00:00', '00:00:00', '0'), period('00:00:00', '00:00:00', '0')] },
    'cost_value_zero',
  ],
  ['a negative period', readHours, { hours: [period('00:00:00', '00:00:00', '-1')] }, 'cost_value_negative'],
  ['a start that is not a time', readHours, { hours: [period('25:00:00', '00:00:00')] }, 'valid_from_invalid'],
  ['an end that is not a time', readHours, { hours: [period('00:00:00', '7')] }, 'valid_to_invalid'],
  ['equal ends away from midnight', readHours, { hours: [period('07:00:00', '07:00:00')] }, 'valid_to_invalid'],
  [
    'periods that overlap',
    readHours,
    { hours: [period('00:00:00', '12:00:00'), period('11:00:00', '00:00:00')] },
    'valid_from_invalid',
  ],
  [
    'a gap at noon',
    readHours,
    { hours: [period('00:00:00', '11:00:00'), period('13:00:00', '00:00:00')] },
    'gap_in_time_period',
  ],
  ['a day without its evening', readHours, { hours: [period('00:00:00', '20:00:00')] }, 'incomplete_time_period'],
  ['a day without its morning', readHours, { hours: [period('06:00:00', '00:00:00')] }, 'incomplete_time_period'],
  ['no periods', readHours, { hours: [] }, 'incomplete_time_period'],
  ['periods that are not a list', readHours, { hours: {} }, 'data_json_invalid'],
  ['an open region', readRegion, { region: null }, 'taken'],
  ['a region that is an object', readRegion, { region: {} }, 'data_json_invalid'],
  ['a surcharge', readSurcharge, { surcharge: { fixed: '0.01', percentage: '18.5' } }, 'taken'],
  ['no surcharge', readSurcharge, {}, 'taken'],
  [
    'a negative percentage',
    readSurcharge,
    { surcharge: { fixed: '0', percentage: '-1' } },
    'surcharge_percentage_invalid',
  ],
  [
    'a percentage that is not a number',
    readSurcharge,
    { surcharge: { fixed: '0', percentage: 'x' } },
    'surcharge_percentage_invalid',
  ],
  [
    'a percentage that is null',
    readSurcharge,
    { surcharge: { fixed: '0', percentage: null } },
    'surcharge_percentage_invalid',
  ],
  ['a fixed surcharge that is not a number', readSurcharge, { surcharge: { fixed: {} } }, 'data_json_invalid'],
  [
    'a term with milliseconds',
    readTerm,
    { contract_start_date: '2026-01-01T00:00:00.000Z', contract_term_type: 'FIXED' },
    'taken',
  ],
  [
    'a term of nulls',
    readTerm,
    { contract_start_date: null, contract_end_date: null, contract_term_type: '' },
    'taken',
  ],
  ['a date without time', readTerm, { contract_start_date: '2026-01-01' }, 'date_format_invalid'],
  ['an impossible date', readTerm, { contract_end_date: '2026-02-30T00:00:00Z' }, 'date_format_invalid'],
  [
    'an end before the start',
    readTerm,
    { contract_start_date: '2026-02-01T00:00:00Z', contract_end_date: '2026-01-01T00:00:00Z' },
    'date_format_invalid',
  ],
  ['an unknown term', readTerm, { contract_term_type: 'FOREVER' }, 'data_json_invalid'],
]

describe('the data of a page', () => {
  it.each(cases)('%s', (_, read, data, code) => {
    expect(codeOf(read(data))).toBe(code)
  })

  it('keeps the members of an address that are not sent, and writes the country code in capitals', () => {
    const known = { address_line2: 'Flat 2', state: 'Greater London', city: 'Leeds' }
    expect(readAddress({ postal_address: home }, known)).toEqual({
      ok: true,
      value: { ...home, country_code: 'GB', address_line2: 'Flat 2', state: 'Greater London' },
    })
    expect(readAddress({ postal_address: { ...home, address_line2: '' } }, known)).toMatchObject({
      ok: true,
      value: { state: 'Greater London' },
    })
  })

  it('rounds what the arithmetic of a page leaves, to nine decimals and to seven of a percent', () => {
    expect(readCost({ cost: '0.28350000000000003' })).toEqual({ ok: true, value: '0.2835' })
    expect(readCost({ cost: '0.0000000001' })).toMatchObject({ ok: false, refusal: { code: 'cost_value_zero' } })
    const surcharge = { fixed: '0.010000000000000002', percentage: '18.500000000000004' }
    expect(readSurcharge({ surcharge })).toEqual({ ok: true, value: { fixed: '0.01', percentage: '18.5' } })
  })

  it('gives a contract that runs until it is terminated no end', () => {
    const data = {
      contract_start_date: null,
      contract_end_date: '2027-01-01T00:00:00Z',
      contract_term_type: 'UNTIL_TERMINATED',
    }
    expect(readTerm(data)).toEqual({ ok: true, value: { start: null, end: null, type: 'UNTIL_TERMINATED' } })
  })
})
