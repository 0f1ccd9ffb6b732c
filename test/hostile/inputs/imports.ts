import { createLocation } from '../fixtures.ts'
import { type HostileInput, playOf, repeat } from '../input.ts'

const subject = 'imports'

/** Return the `open` of an input that imports a file at a new location. */
const openImport = (format: string, file: (size: number) => string, more: object = {}): HostileInput['open'] => {
  return async ({ hostile }, size) => {
    const location = await createLocation(hostile, more)
    const path = `/tariffs/import?format=${format}&dry_run=true&location_id=${location}`
    const body = file(size)
    return playOf(() => hostile.send('POST', path, body))
  }
}

/** A price list whose rows change the price at as many instants. */
const priceRows = (rows: number): string => {
  const row = (index: number): object => ({
    GLN_Number: '579',
    ChargeType: 'D03',
    ChargeTypeCode: `${index}`,
    ResolutionDuration: 'P1D',
    Price1: 0.1,
    ValidFrom: `${1900 + (index % 100)}-01-01T00:00:00`,
  })
  return JSON.stringify({ records: Array.from({ length: rows }, (_, index) => row(index)) })
}

/** An OCPI tariff whose elements all have other hours. */
const elements = (count: number): string => {
  const element = (index: number): object => ({
    price_components: [{ type: 'ENERGY', price: index, step_size: 1 }],
    restrictions: {
      start_time: `${String(index % 24).padStart(2, '0')}:${String(index % 60).padStart(2, '0')}`,
      end_time: '23:59',
      start_date: `${1950 + index}-01-01`,
    },
  })
  const list = Array.from({ length: count }, (_, index) => element(index))
  return JSON.stringify({ country_code: 'DE', party_id: 'ALL', id: '1', currency: 'EUR', elements: list })
}

/** A rate with a list of numbers that no format knows. */
const unknownMembers = (count: number): string =>
  `{"energyratestructure":[[{"rate":1}]],"other":[${repeat(count, '[1],')}1]}`

/** Files of others at and above their limits. A dry run does all the work of an import. */
export const imports: readonly HostileInput[] = [
  {
    subject,
    name: 'YAML of nested lists',
    size: 250_000,
    unit: 'lists',
    growsTo: null,
    statuses: [400],
    isShort: true,
    open: openImport('fri-nettleie', size => `a: ${repeat(size, '[')}`),
  },
  {
    subject,
    name: 'YAML of many values',
    size: 50_000,
    unit: 'values',
    growsTo: null,
    statuses: [400],
    open: openImport('fri-nettleie', size => `a:\n${repeat(size, '- 1\n')}`),
  },
  {
    subject,
    name: 'YAML of aliases',
    size: 3_000,
    unit: 'aliases',
    growsTo: null,
    statuses: [400],
    open: openImport('fri-nettleie', size => `a: &a [1]\nb: [${repeat(size, '*a,')}*a]\n`),
  },
  {
    subject,
    name: 'OCPI tariff of 99 elements with hours and dates',
    size: 99,
    unit: 'elements',
    growsTo: null,
    statuses: [200],
    isShort: true,
    open: openImport('ocpi', elements),
  },
  {
    subject,
    name: 'price list of 1,000 rows',
    size: 1_000,
    unit: 'rows',
    growsTo: null,
    statuses: [200, 400],
    open: openImport('datahub-pricelist', priceRows, { timezone: 'Europe/Copenhagen', currency_code: 'DKK' }),
  },
  {
    subject,
    name: 'rate with unknown members of 1 MiB',
    size: 130_000,
    unit: 'numbers',
    growsTo: null,
    statuses: [400],
    open: openImport('urdb', unknownMembers, { currency_code: 'USD' }),
  },
]
