import { z } from 'zod'
import { type Move, movesTo, type Rename } from './earlier.ts'
import type { Layout } from './layout.ts'
import { namesOf } from './member-path.ts'

/** A JSON Schema as OpenAPI 3.1 takes it. */
export type JsonSchema = { readonly [key: string]: unknown }

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null && !Array.isArray(value)

const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  isSchema(schema['properties']) ? (schema['properties'] as Readonly<Record<string, JsonSchema>>) : {}

const requiredOf = (schema: JsonSchema): readonly string[] => (Array.isArray(schema['required']) ? schema['required'] : [])

/** Change every object schema at a path; lists and alternatives on the way are passed through. */
export const eachSchemaAt = (schema: JsonSchema, path: readonly string[], change: (schema: JsonSchema) => JsonSchema): JsonSchema => {
  if (isSchema(schema['items'])) return { ...schema, items: eachSchemaAt(schema['items'], path, change) }
  if (!isSchema(schema['properties'])) {
    if (!Array.isArray(schema['anyOf'])) return schema
    return { ...schema, anyOf: schema['anyOf'].map(one => eachSchemaAt(one, path, change)) }
  }
  const [name, ...rest] = path
  if (name === undefined) return change(schema)
  const properties = propertiesOf(schema)
  const inner = properties[name]
  return inner === undefined ? schema : { ...schema, properties: { ...properties, [name]: eachSchemaAt(inner, rest, change) } }
}

type Taken = { readonly schema: JsonSchema; readonly required: boolean }

const schemaAt = (schema: JsonSchema, path: readonly string[]): Taken | undefined => {
  const [name = '', ...rest] = path
  const inner = propertiesOf(schema)[name]
  if (inner === undefined) return undefined
  // A member of something that may be left out may be left out.
  const required = requiredOf(schema).includes(name)
  const found: Taken | undefined = rest.length === 0 ? { schema: inner, required: true } : schemaAt(inner, rest)
  return found === undefined ? undefined : { ...found, required: found.required && required }
}

const without = (schema: JsonSchema, path: readonly string[]): JsonSchema => {
  const [name = '', ...rest] = path
  const { [name]: inner, ...others } = propertiesOf(schema)
  if (inner === undefined) return schema
  const left = rest.length === 0 ? undefined : without(inner, rest)
  if (left !== undefined && Object.keys(propertiesOf(left)).length > 0) return { ...schema, properties: { ...others, [name]: left } }
  return { ...schema, properties: others, required: requiredOf(schema).filter(one => one !== name) }
}

const having = (schema: JsonSchema, path: readonly string[], taken: Taken): JsonSchema => {
  const [name = '', ...rest] = path
  const properties = propertiesOf(schema)
  const inner = rest.length === 0 ? taken.schema : having(properties[name] ?? { type: 'object', properties: {} }, rest, taken)
  const required = requiredOf(schema)
  return {
    ...schema,
    properties: { ...properties, [name]: inner },
    required: taken.required && !required.includes(name) ? [...required, name] : required,
  }
}

const requiring = (schema: JsonSchema, name: string): JsonSchema => {
  const required = requiredOf(schema)
  return required.includes(name) ? schema : { ...schema, required: [...required, name] }
}

const reworded = (schema: JsonSchema, values: Readonly<Record<string, string>>): JsonSchema => {
  const word = (value: unknown): unknown => (typeof value === 'string' ? (values[value] ?? value) : value)
  const changed: Record<string, unknown> = { ...schema }
  if (Array.isArray(schema['enum'])) changed['enum'] = schema['enum'].map(word)
  if ('const' in schema) changed['const'] = word(schema['const'])
  if ('default' in schema) changed['default'] = word(schema['default'])
  if (Array.isArray(schema['anyOf'])) changed['anyOf'] = schema['anyOf'].map(one => reworded(one, values))
  return changed
}

const moveSchemas = (schema: JsonSchema, moves: readonly Move[]): JsonSchema => {
  const taken = moves.map(move => ({ move, found: schemaAt(schema, move.from) })).filter(one => one.found !== undefined)
  let moved = schema
  for (const { move } of taken.toSorted((a, b) => b.move.from.length - a.move.from.length)) moved = without(moved, move.from)
  for (const { move, found } of taken.toSorted((a, b) => (a.move.to?.length ?? 0) - (b.move.to?.length ?? 0))) {
    if (move.to === null || found === undefined) continue
    moved = having(moved, move.to, { ...found, schema: reworded(found.schema, move.values) })
  }
  return moved
}

/** Put a schema into the words of a layout: what the renames do to values, done to their description. */
export const schemaInLayout = (schema: JsonSchema, renames: readonly Rename[], layout: Layout): JsonSchema => {
  let changed = schema
  if (layout === 'current') {
    for (const rename of renames) {
      if ('alwaysInCurrent' in rename) {
        const path = namesOf(rename.alwaysInCurrent)
        changed = eachSchemaAt(changed, path.slice(0, -1), one => requiring(one, path.at(-1) ?? ''))
      }
      if (!('inRequest' in rename)) continue
      const names = namesOf(rename.earlier)
      changed = eachSchemaAt(changed, names.slice(0, -1), one => without(one, names.slice(-1)))
    }
    return changed
  }
  for (const moves of movesTo(renames, 'earlier')) {
    changed = eachSchemaAt(changed, moves[0]?.shared ?? [], one => moveSchemas(one, moves))
  }
  for (const rename of renames) {
    if (!('constant' in rename)) continue
    const names = namesOf(rename.earlier)
    const constant = { schema: { const: rename.constant }, required: true }
    changed = eachSchemaAt(changed, names.slice(0, -1), one => having(one, names.slice(-1), constant))
  }
  return changed
}

/** Describe a shape as JSON Schema, seen from the caller. */
export const schemaOf = (shape: z.ZodType): JsonSchema => {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The converter leaves these out of shapes that transform; on the wire they hold all the same.
      const { def } = zodSchema._zod
      if (def.type === 'default') jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue
      const examples = z.globalRegistry.get(zodSchema)?.['examples']
      if (Array.isArray(examples)) jsonSchema.examples = examples
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}
