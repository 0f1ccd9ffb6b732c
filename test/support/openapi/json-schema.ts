/** A JSON Schema as the OpenAPI documents carry it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

type Members = Readonly<Record<string, unknown>>

/** Where a value departs from its schema: a path and what is wrong there. */
export type Departure = string

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const schemasIn = (value: unknown): Readonly<Record<string, JsonSchema>> =>
  isMembers(value) ? (value as Record<string, JsonSchema>) : {}

const typeNames: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  array: Array.isArray,
  object: isMembers,
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

const sized = (value: unknown, schema: JsonSchema): string | null => {
  const size = typeof value === 'string' ? [...value].length : Array.isArray(value) ? value.length : null
  if (size === null) return null
  const [min, max] =
    typeof value === 'string' ? [schema['minLength'], schema['maxLength']] : [schema['minItems'], schema['maxItems']]
  if (typeof min === 'number' && size < min) return `has size ${size}, less than ${min}`
  return typeof max === 'number' && size > max ? `has size ${size}, more than ${max}` : null
}

const ranged = (value: unknown, schema: JsonSchema): string | null => {
  if (typeof value !== 'number') return null
  const { minimum, maximum, exclusiveMinimum } = schema
  if (typeof minimum === 'number' && value < minimum) return `is ${value}, below ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `is ${value}, above ${maximum}`
  return typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum
    ? `is ${value}, not above ${exclusiveMinimum}`
    : null
}

const worded = (value: unknown, schema: JsonSchema): string | null => {
  if ('const' in schema && value !== schema['const'])
    return `is ${JSON.stringify(value)}, not ${JSON.stringify(schema['const'])}`
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value))
    return `is ${JSON.stringify(value)}, none of ${schema['enum'].join(' ')}`
  if (typeof value !== 'string') return null
  if (schema['format'] === 'date-time' && (!instant.test(value) || Number.isNaN(Date.parse(value))))
    return `is no instant: ${value}`
  if (typeof schema['pattern'] === 'string' && !new RegExp(schema['pattern'], 'su').test(value))
    return `does not match ${schema['pattern']}`
  return null
}

const typed = (value: unknown, { type }: JsonSchema): string | null => {
  if (type === undefined) return null
  const names = (Array.isArray(type) ? type : [type]).map(String)
  return names.some(name => typeNames[name]?.(value) === true)
    ? null
    : `is ${JSON.stringify(value)?.slice(0, 60)}, no ${names.join(' or ')}`
}

const membersDepartures = (value: Members, schema: JsonSchema, path: string): readonly Departure[] => {
  const properties = schemasIn(schema['properties'])
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const found = required.filter(name => !(name in value)).map(name => `${path}.${name} is missing`)
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own !== undefined) found.push(...departures(member, own, `${path}.${name}`))
    else if (isMembers(schema['additionalProperties']))
      found.push(...departures(member, schema['additionalProperties'], `${path}.${name}`))
    // An answer has what its document says and nothing besides, so objects are closed unless the schema opens them.
    else if (schema['additionalProperties'] !== true && 'properties' in schema)
      found.push(`${path}.${name} is not documented`)
  }
  return found
}

/**
 * Keywords that the checker understands or that say nothing about a value; any other one would be passed over in
 * silence.
 */
const keywords = new Set(
  (
    'type properties required items anyOf const enum additionalProperties propertyNames pattern minLength maxLength minItems maxItems ' +
    'maxProperties minimum maximum exclusiveMinimum format description examples default deprecated readOnly'
  ).split(' '),
)

/**
 * List where a value departs from a schema; empty when it conforms. Objects with documented members have no others.
 * Throws for a keyword that the checker does not know.
 */
export const departures = (value: unknown, schema: JsonSchema, path = '$'): readonly Departure[] => {
  const unknown = Object.keys(schema).find(keyword => !keywords.has(keyword))
  if (unknown !== undefined) throw new Error(`the schema at ${path} uses ${unknown}, which this checker does not know`)
  const [wrong] = [typed(value, schema), worded(value, schema), sized(value, schema), ranged(value, schema)].filter(
    one => one !== null,
  )
  if (wrong !== undefined) return [`${path} ${wrong}`]
  if (Array.isArray(schema['anyOf']) && schema['properties'] === undefined) {
    const tried = schema['anyOf'].map(one => departures(value, one as JsonSchema, path))
    return tried.some(one => one.length === 0) ? [] : (tried.toSorted((a, b) => a.length - b.length)[0] ?? [])
  }
  if (Array.isArray(value)) {
    const { items } = schema
    return isMembers(items) ? value.flatMap((element, index) => departures(element, items, `${path}[${index}]`)) : []
  }
  return isMembers(value) ? membersDepartures(value, schema, path) : []
}

/** Follow a reference into the components of its document. */
export const resolved = (schema: JsonSchema, document: object): JsonSchema => {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  const found = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (isMembers(value) ? value[name] : undefined), document)
  if (!isMembers(found)) throw new Error(`nothing is at ${$ref}`)
  return found
}

/** Put the schemas that references name in their place, on every level. */
export const inlined = (value: unknown, document: object): unknown => {
  if (Array.isArray(value)) return value.map(one => inlined(one, document))
  if (!isMembers(value)) return value
  const { $ref, ...own } = value
  const found = typeof $ref === 'string' ? { ...resolved({ $ref }, document), ...own } : own
  return Object.fromEntries(Object.entries(found).map(([name, one]) => [name, inlined(one, document)]))
}
