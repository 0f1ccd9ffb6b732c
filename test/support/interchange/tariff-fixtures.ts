import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { TariffFormat } from '../../../services/interchange/domain/tariff-file.ts'
import type { ReadOptions } from './read-tariffs.ts'

/** File of a format that is accepted. */
export type TariffFixture = {
  readonly name: string
  readonly format: TariffFormat
  readonly file: object
  readonly options: ReadOptions
}

const grid = (periodOf: (hour: number) => number) =>
  Array.from({ length: 12 }, () => Array.from({ length: 24 }, (_, hour) => periodOf(hour)))
const night = grid(hour => (hour < 8 ? 0 : 1))

/** Each kind of object has all members of its format at least once, so that an added member has another meaning. */
const urdb = {
  label: 'a1',
  name: 'Rate',
  utility: 'U',
  uri: 'https://example.com',
  startdate: 1_633_046_400,
  enddate: 1_656_547_200,
  sector: 'Residential',
  dgrules: 'Buy All Sell All',
  usenetmetering: false,
  energyratestructure: [
    [
      { rate: 0.1, adj: 0.01, max: 500, unit: 'kWh', sell: 0.04 },
      { rate: 0.2, unit: 'kWh', sell: 0.04 },
    ],
    [{ rate: 0.3, adj: 0.02, unit: 'kWh', sell: 0.05 }],
  ],
  energyweekdayschedule: night,
  energyweekendschedule: grid(() => 0),
  fueladjustmentsmonthly: [0.01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  flatdemandstructure: [[{ rate: 3, adj: 1, max: 10, unit: 'kW' }, { rate: 2 }]],
  flatdemandmonths: Array.from({ length: 12 }, () => 0),
  flatdemandunit: 'kW',
  demandwindow: 15,
  demandratestructure: [[{ rate: 0 }], [{ rate: 12, adj: 1, max: 20, unit: 'kW' }, { rate: 4 }]],
  demandweekdayschedule: night,
  demandweekendschedule: grid(() => 0),
  demandrateunit: 'kW',
  demandunits: 'kW',
  lookbackpercent: 80,
  lookbackrange: 11,
  fixedchargefirstmeter: 5.71,
  fixedchargeunits: '$/month',
  mincharge: 20,
  minchargeunits: '$/month',
  annualmincharge: 90,
  energyattrs: [{ senior: 'yes' }],
}

const ocpi = {
  country_code: 'DE',
  party_id: 'ALL',
  id: '1',
  currency: 'EUR',
  type: 'REGULAR',
  tax_included: 'NO',
  tariff_alt_text: [{ language: 'en', text: 'Tariff' }],
  start_date_time: '2026-01-01T00:00:00Z',
  end_date_time: '2027-01-01T00:00:00Z',
  elements: [
    {
      price_components: [
        { type: 'ENERGY', price: 0.5, vat: 19, step_size: 1 },
        { type: 'PARKING_TIME', price: 3, vat: 19, step_size: 1 },
      ],
      restrictions: {
        start_time: '22:00',
        end_time: '06:00',
        day_of_week: ['FRIDAY', 'SATURDAY'],
        start_date: '2026-03-01',
        end_date: '2026-10-01',
      },
    },
    {
      price_components: [
        { type: 'ENERGY', price: 0.3, step_size: 1 },
        { type: 'FLAT', price: 1, step_size: 1 },
      ],
    },
  ],
  energy_mix: { is_green_energy: true, energy_sources: [{ source: 'WIND', percentage: 100 }] },
  last_updated: '2026-01-01T00:00:00Z',
}

const gridPrices = {
  netteier: 'Nett AS',
  gln: ['708'],
  kilder: ['https://example.com'],
  sist_oppdatert: '2025-12-25',
  tariffer: [
    {
      kundegrupper: ['fritid'],
      gyldig_fra: '2024-01-01',
      gyldig_til: '2025-01-01',
      navn: 'Sør',
      energiledd: { grunnpris: 10 },
      fastledd: { metode: 'MND_MAX', terskel_inkludert: false, terskler: [{ terskel: 0, pris: 1_200 }] },
    },
    {
      kundegrupper: ['fritid'],
      gyldig_fra: '2025-01-01',
      gyldig_til: '2026-01-01',
      energiledd: {
        grunnpris: 20,
        unntak: [
          { navn: 'Dag', timer: '6-21', dager: ['ukedag'], måneder: ['januar', 'februar'], pris: 31 },
          { navn: 'Helg', dager: ['helg'], pris: 12 },
        ],
      },
      fastledd: {
        metode: 'TRE_DØGNMAX_MND',
        terskel_inkludert: true,
        terskler: [
          { terskel: 0, pris: 1_200 },
          { terskel: 2, pris: 3_000 },
        ],
      },
    },
  ],
}

const pricelistRow = (code: string, more: object) => ({
  ChargeOwner: 'Net',
  GLN_Number: '579',
  ChargeType: 'D03',
  ChargeTypeCode: code,
  Note: code,
  Description: code,
  ValidFrom: '2026-01-01T00:00:00',
  ValidTo: '2027-01-01T00:00:00',
  VATClass: 'D02',
  ResolutionDuration: 'P1D',
  TransparentInvoicing: 0,
  TaxIndicator: 0,
  ...more,
})
const hourly = Object.fromEntries(Array.from({ length: 24 }, (_, hour) => [`Price${hour + 1}`, 0.1 + hour / 100]))
const pricelist = {
  total: 3,
  dataset: 'DatahubPricelist',
  records: [
    pricelistRow('a', { ResolutionDuration: 'PT1H', ...hourly }),
    pricelistRow('b', { ...hourly, Price1: 0.02, ValidTo: '2026-06-01T00:00:00', VATClass: 'D01' }),
    pricelistRow('s', { ...hourly, Price1: 20, ChargeType: 'D01' }),
  ],
}

const octopusRow = (from: string, to: string | null, pence: number) => ({
  value_exc_vat: pence,
  value_inc_vat: pence * 1.05,
  valid_from: from,
  valid_to: to,
  payment_method: null,
})
const octopus = {
  count: 3,
  next: null,
  previous: null,
  results: [
    octopusRow('2026-01-11T00:00:00Z', null, 30),
    octopusRow('2026-01-10T12:00:00Z', '2026-01-11T00:00:00Z', 20),
    octopusRow('2026-01-10T00:00:00Z', '2026-01-10T12:00:00Z', 8),
  ],
}

const [norway, london] = [
  { zone: 'Europe/Oslo', currency: 'NOK' },
  { zone: 'Europe/London', currency: 'GBP' },
]
const berlin = { zone: 'Europe/Berlin', currency: 'EUR', vat: 'SOURCE' as const }
const denmark = { zone: 'Europe/Copenhagen', currency: 'DKK', vat: 'SOURCE' as const }

const ownFixtures: readonly TariffFixture[] = [
  { name: 'a rate of URDB', format: 'urdb', file: urdb, options: {} },
  { name: 'items of URDB', format: 'urdb', file: { items: [urdb, { ...urdb, label: 'a2' }] }, options: {} },
  { name: 'a tariff of OCPI', format: 'ocpi', file: ocpi, options: berlin },
  { name: 'an answer of OCPI', format: 'ocpi', file: { data: [ocpi], status_code: 1000 }, options: berlin },
  { name: 'grid prices', format: 'fri-nettleie', file: gridPrices, options: norway },
  { name: 'a price list', format: 'datahub-pricelist', file: pricelist, options: denmark },
  { name: 'unit rates', format: 'octopus', file: octopus, options: london },
  { name: 'standing charges', format: 'octopus', file: octopus, options: { ...london, isStanding: true } },
]

const folder = new URL('../../../../shared/acceptance/interchange/files/', import.meta.url)
const publishedFiles: readonly (readonly [string, TariffFormat, ReadOptions])[] = [
  ['urdb/psco-re-tou.json', 'urdb', {}],
  ['urdb/entergy-lps-tou.json', 'urdb', {}],
  ['ocpi/td-025kwh_start-tariff.json', 'ocpi', berlin],
  ['norway/griug.yml', 'fri-nettleie', { ...norway, group: 'fritid' }],
  ['denmark/pricelist.json', 'datahub-pricelist', denmark],
  ['octopus/unit-rates.json', 'octopus', london],
]

/** Accepted files of each format: own ones, and published ones where they are present. */
export const tariffFixtures: readonly TariffFixture[] = [
  ...ownFixtures,
  ...publishedFiles.flatMap(([path, format, options]) => {
    const place = new URL(path, folder)
    if (!existsSync(place)) return []
    return [{ name: path, format, file: parse(readFileSync(place, 'utf8')) as object, options }]
  }),
]
