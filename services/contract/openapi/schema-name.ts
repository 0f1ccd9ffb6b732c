import type { JsonSchema } from './schema-document.ts'

/** Schemas of the objects of a document, by their names. */
export type NamedSchemas = Map<string, JsonSchema>

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const pascalCase = (name: string): string =>
  name
    .split(/[_.]/)
    .filter(word => word !== '')
    .map(word => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join('')

/** The name of an operation's own schema: customer_create gives CustomerCreate. */
export const schemaName = pascalCase

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')

/** The name of what a list has: objects of a list of objects have their own name, elements of data are elements. */
const itemName = (owner: string, property: string): string => {
  if (property !== 'data') return `${owner}${pascalCase(singular(property))}`
  return owner.endsWith('List') ? owner.slice(0, -'List'.length) : `${owner}Element`
}

const isObject = (schema: JsonSchema): boolean =>
  isSchema(schema['properties']) && Object.keys(schema['properties']).length > 0

/** Store a schema under a name. Throws if another schema has the name already. */
const storeSchema = (namedSchemas: NamedSchemas, name: string, schema: JsonSchema): JsonSchema => {
  const found = namedSchemas.get(name)
  if (found !== undefined && JSON.stringify(found) !== JSON.stringify(schema))
    throw new Error(`two schemas are called ${name}`)
  namedSchemas.set(name, schema)
  return { $ref: `#/components/schemas/${name}` }
}

const mapSchemas = (schemas: JsonSchema, change: (name: string, schema: JsonSchema) => JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, isSchema(one) ? change(name, one) : one]))

/** Name the objects inside a schema that belongs to `owner`; `property` is the member that has it. */
const nameWithin = (schema: JsonSchema, owner: string, property: string, namedSchemas: NamedSchemas): JsonSchema => {
  const { component, description, ...own } = schema
  const descriptionOf = description === undefined ? {} : { description }
  if (isObject(own)) {
    const name = typeof component === 'string' ? component : `${owner}${pascalCase(property)}`
    return { ...storeSchema(namedSchemas, name, nameMembers(own, name, namedSchemas)), ...descriptionOf }
  }
  const inner = own['items']
  if (isSchema(inner)) {
    const item = typeof inner['component'] === 'string' ? inner['component'] : itemName(owner, property)
    const items = isObject(inner)
      ? nameObject(inner, item, namedSchemas)
      : nameWithin(inner, owner, property, namedSchemas)
    return { ...own, items, ...descriptionOf }
  }
  if (Array.isArray(own['anyOf'])) {
    const anyOf = own['anyOf'].map(one => (isSchema(one) ? nameWithin(one, owner, property, namedSchemas) : one))
    return { ...own, anyOf, ...descriptionOf }
  }
  return { ...own, ...descriptionOf }
}

const nameMembers = (schema: JsonSchema, owner: string, namedSchemas: NamedSchemas): JsonSchema => {
  const { properties, component: _, ...own } = schema
  if (!isSchema(properties)) return own
  return {
    ...own,
    properties: mapSchemas(properties, (property, one) => nameWithin(one, owner, property, namedSchemas)),
  }
}

/**
 * Put an object schema among the named ones, with every object inside it under a name of its own, and return the reference to it.
 * A list keeps its place and has references as its items; whatever has no members stays as it is.
 * A member `component` of a schema chooses its name; else the name follows from owner and member. Throws for two schemas of one name.
 */
export const nameObject = (schema: JsonSchema, name: string, namedSchemas: NamedSchemas): JsonSchema => {
  const { component, description, ...own } = schema
  const chosenName = typeof component === 'string' ? component : name
  const descriptionOf = description === undefined ? {} : { description }
  if (isObject(own))
    return { ...storeSchema(namedSchemas, chosenName, nameMembers(own, chosenName, namedSchemas)), ...descriptionOf }
  return nameWithin(schema, name.replace(/Request$/, ''), '', namedSchemas)
}
