import fc from 'fast-check'
import type { ApiVersion } from '../../../services/contract/api-version.ts'

/** Time at which the submissions arrive, in ms. */
export const at = Date.UTC(2026, 2, 1)
const hourMs = 3_600_000
/** Ids of a location and a device that do not exist. */
export const missing = ['loc_0198c0ffee00ffffffffffff', 'dev_0198c0ffee00ffffffffffff']
const locations = ['loc_0198c0ffee00112233445566', 'loc_0198c0ffee00112233445567', missing[0] as string]
const devices = ['dev_0198c0ffee00112233445566', 'dev_0198c0ffee00aabbccddeeff', missing[1] as string]

const quoted = (values: fc.Arbitrary<string>) => values.map(value => JSON.stringify(value))
const anyText = fc.oneof(
  fc.constantFrom(
    'session-1',
    'ä',
    'Sitzung €',
    '😀',
    '',
    'x'.repeat(255),
    'x'.repeat(256),
    'ü'.repeat(200),
    'a"b',
    'a/b',
    '\u2028',
    '\x7f',
  ),
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)
const written = fc.oneof(
  { weight: 6, arbitrary: quoted(anyText) },
  { weight: 1, arbitrary: fc.constantFrom('"\\u0041"', '"\\ud800"', '"\\u0000"', '"\t"', '"a\\/b"', '"open') },
)
const instants = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -40, max: 0 }).map(hours => new Date(at + hours * hourMs).toISOString()) },
  fc
    .integer({ min: -370 * 24, max: 9 * 24 })
    .map(hours => new Date(at + hours * hourMs).toISOString().replace('.000', '')),
  fc.constantFrom(
    '2026-02-28T23:00:00+01:00',
    '2026-02-28t23:00:00z',
    '2026-02-28T23:00:00.5Z',
    '2026-02-28T23:00:00.12345Z',
  ),
  fc.constantFrom(
    '2026-02-29T00:00:00Z',
    '2026-02-28T24:00:00Z',
    '2026-02-28T23:60:00Z',
    '2026-02-28 23:00:00Z',
    '2026-02-28T23:00:00',
    '20',
  ),
  fc.constantFrom(
    '2026-02-28T23:00:00.12Z',
    '2026-02-28T2a:00:00Z',
    '2026_02-28T23:00:00Z',
    '1999-12-31T23:00:00Z',
    '2026-02-28T23:00:00.1a3Z',
  ),
)
const numbers = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: 0, max: 1e6, noNaN: true }).map(value => value.toFixed(3)) },
  { weight: 2, arbitrary: fc.double({ min: 0, max: 1e6, noNaN: true }).map(String) },
  { weight: 2, arbitrary: fc.nat(100_000).map(String) },
  fc.constantFrom(
    '0',
    '0.0',
    '-0',
    '-1',
    '1e3',
    '1E-2',
    '01',
    '1.',
    '.5',
    '00',
    '0.5',
    '999999999999999',
    '0.0000005',
    '0.1234567890125',
  ),
  fc.constantFrom(
    '1234567890123456',
    '99999999999.999',
    '100000000000',
    '100000000000.1',
    '9007199254.740993',
    '12345678901.2345',
    '"1"',
    '[1]',
  ),
)
const ids = (known: readonly string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...known) },
    fc.constantFrom(
      'x',
      'loc_0198C0FFEE00112233445566',
      'loc_0198c0ffee0011223344556g',
      'dev_0198c0ffee0011223344556:',
      'loc_0198c0ffee0011223344556',
    ),
    fc.constantFrom(...devices, ...locations),
    fc.stringMatching(/^(loc|dev)_[0-9a-z:@]{24}$/),
  )

const values = {
  location_id: quoted(ids(locations)),
  device_id: quoted(ids(devices)),
  session_reference_id: written,
  record_reference_id: written,
  energy_flow_direction: quoted(fc.constantFrom('INBOUND', 'INBOUND', 'OUTBOUND', 'IMPORT', 'EXPORT', 'inbound')),
  tariff_direction: quoted(fc.constantFrom('IMPORT', 'IMPORT', 'EXPORT', 'LOCAL', 'LOCALS')),
  direction: quoted(fc.constantFrom('IMPORT', 'IMPORT', 'EXPORT', 'INBOUND')),
  tariff_rate: quoted(fc.constantFrom('IMPORT', 'EXPORT', 'LOCAL')),
  measurand: quoted(fc.constantFrom('TRANSFERRED', 'TRANSFERRED', 'TRANSFUSED', 'OFFERED')),
  units: quoted(fc.constantFrom('W', 'KW', 'WH', 'KWH', 'WH', 'KWH', 'kWh', 'WHH', 'K')),
  value: numbers,
  confidence: fc.oneof(
    fc.constantFrom('1', '1.0', '0.5', '0', '1.1', '0.99999999', '0.1234565', '1e-3', '10'),
    numbers,
  ),
  start_time: quoted(instants),
  end_time: quoted(instants),
  note: fc.constant('1'),
} as const
type Name = keyof typeof values

const spaces = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('', '', '', ' ') },
  fc.constantFrom('\n', '\t', '\r\n', '  ', '\v', '\u00a0'),
)

/** Members of a valid record, with their values as JSON text. */
const base = (apiVersion: ApiVersion, hours: number): readonly (readonly [string, string])[] => [
  ['location_id', `"${locations[0]}"`],
  [
    apiVersion === 'current' ? 'energy_flow_direction' : 'direction',
    apiVersion === 'current' ? '"INBOUND"' : '"IMPORT"',
  ],
  ['units', '"KWH"'],
  ['value', `${hours}.25`],
  ['start_time', `"${new Date(at - (hours + 1) * hourMs).toISOString()}"`],
  ['end_time', `"${new Date(at - hours * hourMs).toISOString()}"`],
]

const change = fc
  .constantFrom(...(Object.keys(values) as Name[]))
  .chain(name =>
    fc.tuple(
      fc.constant(name),
      fc.oneof({ weight: 25, arbitrary: values[name] }, fc.constantFrom('null', '{}', 'true', '7')),
    ),
  )
const deviations = fc.oneof({ weight: 30, arbitrary: fc.constant('usual') }, fc.constantFrom('twice', 'lost', 'padded'))

const element = (apiVersion: ApiVersion) =>
  fc
    .tuple(
      fc.nat(30),
      fc.array(change, { maxLength: 2 }),
      fc.infiniteStream(fc.nat(1000)),
      fc.array(spaces, { minLength: 1 }),
      deviations,
    )
    .map(([hours, changes, order, gaps, deviation]) => {
      const members = new Map<string, string>(base(apiVersion, hours))
      for (const [name, value] of changes) members.set(name, value)
      const shuffled = [...members]
        .map(member => ({ member, rank: order.next().value }))
        .sort((a, b) => a.rank - b.rank)
      const list = (gaps.length % 2 === 0 ? shuffled.map(({ member }) => member) : [...members]).slice(
        deviation === 'lost' ? 1 : 0,
      )
      if (deviation === 'twice') list.push(list[0] as [string, string])
      let gap = 0
      const space = (): string => gaps[gap++ % gaps.length] ?? ''
      const texts = list.map(
        ([name, value]) => `${space()}"${name}"${gaps.length === 3 ? space() : ''}:${space()}${value}${space()}`,
      )
      return `{${texts.join(',')}${deviation === 'padded' ? ' '.repeat(8_000) : ''}}`
    })

const wholeTextChanges = fc.oneof(
  { weight: 12, arbitrary: fc.constant((text: string) => text) },
  fc.constantFrom(
    (text: string) => `${text} x`,
    (text: string) => text.slice(0, -1),
    (text: string) => `\ufeff${text}`,
    (text: string) => `${text},`,
    (text: string) => `${text}\n\n`,
    (text: string) => text.replace(',', ',,'),
    (text: string) => text.replace('{', '[{').replace('}', '}]'),
    (text: string) => text.replace('}', `,"deep":${'['.repeat(40)}${']'.repeat(40)}}`),
    (text: string) => text.replace('"', ''),
  ),
)
/**
 * Submissions of both API versions, as a list or as lines.
 * Most are valid or almost valid. Others are not JSON.
 */
export const submission = fc
  .tuple(fc.constantFrom<ApiVersion>('current', 'current', 'earlier'), fc.boolean())
  .chain(([apiVersion, inLines]) =>
    fc
      .tuple(fc.array(element(apiVersion), { minLength: 1, maxLength: 3 }), wholeTextChanges, spaces)
      .map(([elements, corrupt, space]) => ({
        apiVersion,
        inLines,
        text: corrupt(
          inLines
            ? elements.map(one => one.replaceAll('\n', ' ')).join(`${space}\n`)
            : `[${elements.join(`${space},`)}]`,
        ),
      })),
  )
