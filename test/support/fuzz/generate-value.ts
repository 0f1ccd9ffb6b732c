import { isObject, type JsonSchema } from '../openapi/json-schema.ts'
import type { Random } from '../random.ts'

/** Ids that exist or existed, by prefix (`loc`). With them, requests pass the first look-up. */
export type KnownIds = ReadonlyMap<string, readonly string[]>

const idPattern = /^([a-z]{3})_[0-9a-f]{24}$/

const pickFrom = <T>(random: Random, choices: readonly T[]): T | undefined => choices[random.below(choices.length)]

/** Replace most example ids by ids that exist. */
export const withKnownIds = (value: unknown, known: KnownIds, random: Random): unknown => {
  if (typeof value === 'string') {
    const prefix = idPattern.exec(value)?.[1]
    return prefix === undefined || random.oneIn(12) ? value : (pickFrom(random, known.get(prefix) ?? []) ?? value)
  }
  if (Array.isArray(value)) return value.map(one => withKnownIds(one, known, random))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withKnownIds(member, known, random)]))
}

const words = [
  'a',
  'home-17',
  'session-17',
  'Größe',
  '🔌 EV',
  'x'.repeat(255),
  ' ',
  'All',
  'DE',
  'EUR',
  'Europe/Berlin',
  '06:00:00',
] as const

const times = [
  () => '2025-09-14T10:00:00Z',
  () => '2025-09-14T10:15:00.5+02:00',
  () => '2025-10-26T02:30:00+02:00',
  () => '2000-01-01T00:00:00Z',
  (random: Random) =>
    new Date(Date.UTC(2024, 0, 1) + random.below(700) * 86_400_000 + random.below(86_400) * 1_000).toISOString(),
] as const

const text = (schema: JsonSchema, random: Random): string => {
  if (schema['format'] === 'date-time') return random.pick(times)(random)
  return random.pick(words).slice(0, typeof schema['maxLength'] === 'number' ? schema['maxLength'] : 255)
}

const number = (schema: JsonSchema, random: Random): number => {
  const { minimum, maximum, type } = schema
  if (typeof minimum === 'number' && random.oneIn(6)) return minimum
  if (typeof maximum === 'number' && random.oneIn(6)) return maximum
  const scale = random.pick([1, 1, 100, 1_000])
  const value = random.below(30 * scale) / scale
  return type === 'integer' ? Math.ceil(value) : value
}

const list = (schema: JsonSchema, known: KnownIds, random: Random): unknown => {
  const minItems = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0
  const { items } = schema
  return Array.from({ length: minItems + random.below(3) }, () =>
    isObject(items) ? generateValue(items, known, random) : 1,
  )
}

const object = (schema: JsonSchema, known: KnownIds, random: Random): unknown => {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
  const chosen = properties.filter(
    ([name, one]) => required.includes(name) || (isObject(one) && one['readOnly'] !== true && random.oneIn(2)),
  )
  return Object.fromEntries(chosen.map(([name, one]) => [name, generateValue(isObject(one) ? one : {}, known, random)]))
}

/** Generate a value that the schema allows. Rules that are missing in the schema may be violated. */
export const generateValue = (schema: JsonSchema, known: KnownIds, random: Random): unknown => {
  const { anyOf, type, examples } = schema
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return pickFrom(random, schema['enum'])
  if (Array.isArray(anyOf) && schema['properties'] === undefined)
    return generateValue(pickFrom(random, anyOf as JsonSchema[]) ?? {}, known, random)
  if (Array.isArray(examples) && !random.oneIn(4)) return withKnownIds(pickFrom(random, examples), known, random)
  const name = Array.isArray(type) ? pickFrom(random, type) : type
  if (name === 'object') return object(schema, known, random)
  if (name === 'array') return list(schema, known, random)
  if (name === 'boolean') return random.oneIn(2)
  if (name === 'null') return null
  return name === 'number' || name === 'integer' ? number(schema, random) : text(schema, random)
}
