/** JSON Schema of the OpenAPI documents. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Violation of a schema: the path of the value and the fault. */
export type Violation = string

/** Return true if a value is a JSON object. */
export const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const schemasIn = (value: unknown): Readonly<Record<string, JsonSchema>> =>
  isObject(value) ? (value as Record<string, JsonSchema>) : {}

const typeNames: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  array: Array.isArray,
  object: isObject,
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

const checkSize = (value: unknown, schema: JsonSchema): string | null => {
  const size = typeof value === 'string' ? [...value].length : Array.isArray(value) ? value.length : null
  if (size === null) return null
  const [min, max] =
    typeof value === 'string' ? [schema['minLength'], schema['maxLength']] : [schema['minItems'], schema['maxItems']]
  if (typeof min === 'number' && size < min) return `has size ${size}, less than ${min}`
  return typeof max === 'number' && size > max ? `has size ${size}, more than ${max}` : null
}

const checkRange = (value: unknown, schema: JsonSchema): string | null => {
  if (typeof value !== 'number') return null
  const { minimum, maximum, exclusiveMinimum } = schema
  if (typeof minimum === 'number' && value < minimum) return `is ${value}, below ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `is ${value}, above ${maximum}`
  return typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum
    ? `is ${value}, not above ${exclusiveMinimum}`
    : null
}

const checkValue = (value: unknown, schema: JsonSchema): string | null => {
  if ('const' in schema && value !== schema['const'])
    return `is ${JSON.stringify(value)}, not ${JSON.stringify(schema['const'])}`
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value))
    return `is ${JSON.stringify(value)}, none of ${schema['enum'].join(' ')}`
  if (typeof value !== 'string') return null
  if (schema['format'] === 'date-time' && (!instant.test(value) || Number.isNaN(Date.parse(value))))
    return `is not an instant: ${value}`
  if (typeof schema['pattern'] === 'string' && !new RegExp(schema['pattern'], 'su').test(value))
    return `does not match ${schema['pattern']}`
  return null
}

const checkType = (value: unknown, { type }: JsonSchema): string | null => {
  if (type === undefined) return null
  const names = (Array.isArray(type) ? type : [type]).map(String)
  return names.some(name => typeNames[name]?.(value) === true)
    ? null
    : `is ${JSON.stringify(value)?.slice(0, 60)}, no ${names.join(' or ')}`
}

const memberViolations = (value: JsonSchema, schema: JsonSchema, path: string): readonly Violation[] => {
  const properties = schemasIn(schema['properties'])
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const found = required.filter(name => !(name in value)).map(name => `${path}.${name} is missing`)
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own !== undefined) found.push(...violationsOf(member, own, `${path}.${name}`))
    else if (isObject(schema['additionalProperties']))
      found.push(...violationsOf(member, schema['additionalProperties'], `${path}.${name}`))
    // An answer has documented members only, unless the schema allows additional properties.
    else if (schema['additionalProperties'] !== true && 'properties' in schema)
      found.push(`${path}.${name} is not documented`)
  }
  return found
}

/** Keywords that the checker supports, and keywords without a rule. Any other keyword would be ignored silently. */
const keywords = new Set(
  (
    'type properties required items anyOf const enum additionalProperties propertyNames pattern minLength maxLength minItems maxItems ' +
    'maxProperties minimum maximum exclusiveMinimum format description examples default deprecated readOnly'
  ).split(' '),
)

/**
 * List the violations of a schema by a value. Objects with documented members must not have other members.
 * Throws for a keyword that the checker does not support.
 */
export const violationsOf = (value: unknown, schema: JsonSchema, path = '$'): readonly Violation[] => {
  const unknown = Object.keys(schema).find(keyword => !keywords.has(keyword))
  if (unknown !== undefined)
    throw new Error(`The schema at ${path} uses ${unknown}, which this checker does not support.`)
  const [wrong] = [
    checkType(value, schema),
    checkValue(value, schema),
    checkSize(value, schema),
    checkRange(value, schema),
  ].filter(one => one !== null)
  if (wrong !== undefined) return [`${path} ${wrong}`]
  if (Array.isArray(schema['anyOf']) && schema['properties'] === undefined) {
    const tried = schema['anyOf'].map(one => violationsOf(value, one as JsonSchema, path))
    return tried.some(one => one.length === 0) ? [] : (tried.toSorted((a, b) => a.length - b.length)[0] ?? [])
  }
  if (Array.isArray(value)) {
    const { items } = schema
    return isObject(items) ? value.flatMap((element, index) => violationsOf(element, items, `${path}[${index}]`)) : []
  }
  return isObject(value) ? memberViolations(value, schema, path) : []
}

/** Return the component that a reference names. */
export const resolveReference = (schema: JsonSchema, document: object): JsonSchema => {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  const found = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), document)
  if (!isObject(found)) throw new Error(`The document has no component ${$ref}.`)
  return found
}

/** Replace all references with their schemas. */
export const inlineReferences = (value: unknown, document: object): unknown => {
  if (Array.isArray(value)) return value.map(one => inlineReferences(one, document))
  if (!isObject(value)) return value
  const { $ref, ...own } = value
  const found = typeof $ref === 'string' ? { ...resolveReference({ $ref }, document), ...own } : own
  return Object.fromEntries(Object.entries(found).map(([name, one]) => [name, inlineReferences(one, document)]))
}
