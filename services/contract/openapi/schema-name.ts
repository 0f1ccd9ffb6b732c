import { isSchema, type JsonSchema } from './schema-document.ts'

/** Schemas of the objects of a document, by name. */
export type NamedSchemas = Map<string, JsonSchema>

/** Function that stores a schema under a name and returns the schema or reference to use instead. */
export type NameSchema = (schema: JsonSchema, name: string) => JsonSchema

const pascalCase = (name: string): string =>
  name
    .split(/[_.]/)
    .filter(word => word !== '')
    .map(word => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join('')

/** Name of a schema, from the id of its operation or event: customer_create becomes CustomerCreate. */
export const schemaName = pascalCase

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')

/** Name of the items of a list: `CustomerList` has items `Customer`; other `data` has items `<Owner>Element`. */
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
    throw new Error(`Two schemas have the name ${name}.`)
  namedSchemas.set(name, schema)
  return { $ref: `#/components/schemas/${name}` }
}

const mapSchemas = (schemas: JsonSchema, change: (name: string, schema: JsonSchema) => JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, isSchema(one) ? change(name, one) : one]))

/** Name the objects inside a schema. `owner` is the name of the object that has the schema as its member `property`. */
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
 * Store an object schema under a name, and each object inside it under its own name. Return the reference.
 * A list stays in place, with references as its items. A schema without members stays unchanged.
 * The member `component` of a schema is its name; without it, the name follows from owner and member.
 * Throws if two different schemas have one name.
 */
export const nameObject = (schema: JsonSchema, name: string, namedSchemas: NamedSchemas): JsonSchema => {
  const { component, description, ...own } = schema
  const chosenName = typeof component === 'string' ? component : name
  const descriptionOf = description === undefined ? {} : { description }
  if (isObject(own))
    return { ...storeSchema(namedSchemas, chosenName, nameMembers(own, chosenName, namedSchemas)), ...descriptionOf }
  return nameWithin(schema, name.replace(/Request$/, ''), '', namedSchemas)
}
