import { gzipSync } from 'node:zlib'
import { isObject } from '../openapi/json-schema.ts'
import type { Random } from '../random.ts'

/** JSON text that `JSON.stringify` cannot produce: `1e400`, a duplicate member. */
const raw = Symbol('raw')
type Raw = { readonly [raw]: string }

const rawText = (text: string): Raw => ({ [raw]: text })

const isRaw = (value: unknown): value is Raw => typeof value === 'object' && value !== null && raw in value

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> => isObject(value) && !isRaw(value)

/** Write JSON text. Raw pieces are written unchanged. */
export const writeJson = (value: unknown): string => {
  if (isRaw(value)) return value[raw]
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`
  if (!isMembers(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}:${writeJson(one)}`)
  return `{${members.join(',')}}`
}

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** Unusual values that clients send. */
const unusualValues = [
  null,
  true,
  false,
  '',
  ' ',
  0,
  -1,
  1.5,
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  'x'.repeat(256),
  '\u{1f50c}'.repeat(256),
  'x'.repeat(5_000),
  "'; drop table customers; --",
  '\\',
  '../../etc/passwd',
  '%00',
  '{{7*7}}',
  '\u202e\u0000\ufeff',
  '\ud800',
  '\udc00x',
  '\u2028',
  'true',
  '1',
  'NaN',
  '__proto__',
  'constructor',
  'loc_',
  `loc_${'z'.repeat(24)}`,
  `loc_${'\u{1f50c}'.repeat(12)}`,
  `dev_${'\u0001'.repeat(24)}`,
  '2026-02-30T00:00:00Z',
  '2025-09-14T24:00:00Z',
  '2025-09-14T23:59:60Z',
  '2025-09-14 10:00:00Z',
  '2025-09-14T10:00:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '2025-09-14T10:00:00+23:59',
  '2025-09-14T10:00:00.123456789123456789Z',
  '24:00:00',
  '25:00:00',
  'Sun',
  'Feb',
  ...[
    '1e400',
    '-1e400',
    '1e-400',
    '-0',
    '0.1e1',
    '123456789012345678901234567890',
    '0.12345678901234567890123',
    '1E+2',
  ].map(rawText),
  ...[
    '9007199254740993',
    '1e308',
    '1e22',
    '100000000000.0000001',
    '-0.0000000001',
    '2147483648',
    '9223372036854775808',
  ].map(rawText),
  ...[
    '01',
    '+1',
    '.5',
    '1.',
    '0x10',
    'NaN',
    'Infinity',
    'undefined',
    "'a'",
    '"\\u0000"',
    '"\\ud800"',
    '"\\x"',
    '"\t"',
  ].map(rawText),
  ...[nested(31), nested(33), nested(2_000), '{"a":1,"a":2}', '{"a":{"b":1,"\\u0062":2}}', '{"__proto__":{"a":1}}'].map(
    rawText,
  ),
] as const

const unusualNames = [
  '__proto__',
  'constructor',
  'toString',
  'id',
  'object',
  'account_id',
  'live_mode',
  'direction',
  'tariff_rate',
  '',
  'ß',
  '\ud800',
  '\u0000',
  'x'.repeat(300),
] as const

const someName = (members: Readonly<Record<string, unknown>>, random: Random): string | undefined =>
  Object.keys(members)[random.below(Object.keys(members).length)]

const corruptedMembers = (members: Readonly<Record<string, unknown>>, random: Random): unknown => {
  const name = someName(members, random)
  const choice = random.below(8)
  if (name === undefined || choice === 0) return { ...members, [random.pick(unusualNames)]: random.pick(unusualValues) }
  const { [name]: value, ...others } = members
  if (choice === 1) return others
  if (choice === 2) return { ...others, [`${name}s`]: value }
  if (choice === 3) {
    const pair = `${JSON.stringify(name)}:${writeJson(value)}`
    const rest = writeJson(others).slice(1)
    return rawText(`{${pair},${pair}${rest === '}' ? '' : ','}${rest}`)
  }
  if (choice >= 6) return random.pick(unusualValues)
  return { ...members, [name]: corruptValue(value, random) }
}

/** Replace one part of a value by a value that is usually invalid. */
export const corruptValue = (value: unknown, random: Random): unknown => {
  if (isMembers(value)) return random.oneIn(10) ? random.pick(unusualValues) : corruptedMembers(value, random)
  if (Array.isArray(value) && value.length > 0 && !random.oneIn(6)) {
    const at = random.below(value.length)
    if (random.oneIn(8)) return [...value, value[at]]
    return value.map((one, index) => (index === at ? corruptValue(one, random) : one))
  }
  return random.pick(unusualValues)
}

/** A body and its headers. */
export type CorruptedBody = { readonly body: string | Uint8Array; readonly headers: Readonly<Record<string, string>> }

const json = { 'content-type': 'application/json' }

const bodies: readonly ((text: string) => CorruptedBody)[] = [
  text => ({ body: text.slice(0, -1), headers: json }),
  text => ({ body: `${text}}`, headers: json }),
  () => ({ body: '', headers: json }),
  () => ({ body: '  \n', headers: json }),
  () => ({ body: 'null', headers: json }),
  () => ({ body: '"text"', headers: json }),
  () => ({ body: '[]', headers: json }),
  () => ({ body: nested(100_000), headers: json }),
  () => ({ body: '[1e400,-0,{"a":1,"a":1}]', headers: json }),
  text => ({ body: `\ufeff${text}`, headers: json }),
  text => ({ body: `// comment\n${text}`, headers: json }),
  text => ({ body: Buffer.from(text, 'utf16le'), headers: json }),
  text => ({ body: Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0xfe])]), headers: json }),
  text => ({ body: text.replaceAll('"', "'"), headers: json }),
  text => ({ body: text, headers: { 'content-type': 'text/plain' } }),
  text => ({ body: text, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  text => ({ body: text, headers: { 'content-type': 'application/vnd.energy+json; charset=utf-8' } }),
  text => ({ body: text, headers: { 'content-type': 'application/x-ndjson' } }),
  text => ({ body: `${text}\n\n{"a":`, headers: { 'content-type': 'application/x-ndjson' } }),
  text => ({ body: text, headers: { 'content-type': ';;;' } }),
  text => ({ body: text, headers: {} }),
  text => ({ body: gzipSync(text), headers: { ...json, 'content-encoding': 'gzip' } }),
  text => ({ body: gzipSync(text).subarray(0, -6), headers: { ...json, 'content-encoding': 'gzip' } }),
  text => ({ body: text, headers: { ...json, 'content-encoding': 'gzip' } }),
  text => ({
    body: Buffer.concat([gzipSync(text), Buffer.from('rest')]),
    headers: { ...json, 'content-encoding': 'GZIP' },
  }),
  text => ({ body: text, headers: { ...json, 'content-encoding': 'br' } }),
  text => ({ body: text, headers: { ...json, 'content-encoding': 'gzip, gzip' } }),
]

/** Corrupt a whole body: its end, its encoding or its media type. */
export const corruptBody = (text: string, random: Random): CorruptedBody => random.pick(bodies)(text)

/** Unusual parts of a path or query, percent-encoded if necessary. */
export const unusualParts = [
  '%00',
  '%ZZ',
  '%',
  '%C0%AF',
  '%ED%A0%80',
  '..',
  '..%2f..',
  '.',
  '%20',
  '+',
  "'",
  '%22%3E%3Cscript%3E',
  'x'.repeat(256),
  'x'.repeat(3_000),
  '%F0%9F%94%8C'.repeat(200),
  '0',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  ';a=b',
  '{id}',
  `loc_${'0'.repeat(24)}`,
  `loc_${'%00'.repeat(24)}`,
  `cus_${'F'.repeat(24)}`,
  `mre_${'0'.repeat(24)}`,
  `mre_${'%27'.repeat(24)}`,
  `bat_${'f'.repeat(24)}`,
  '2025-09-14T10:00:00+02:00',
  '1e9',
  '101',
  '-1',
] as const
