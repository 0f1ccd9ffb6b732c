import { z } from 'zod'
import type { ApiVersion } from '../api-version.ts'
import { type FieldRename, fieldRenamesTo, type VersionRename } from '../earlier-api-version.ts'
import { pathNames } from '../json/json-path.ts'

/** JSON Schema, in the form of OpenAPI 3.1. */
export type JsonSchema = { readonly [key: string]: unknown }

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Schemas of the members of an object schema; empty for other schemas. */
export const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  isSchema(schema['properties']) ? (schema['properties'] as Readonly<Record<string, JsonSchema>>) : {}

/** Names of the required members of an object schema. */
export const requiredOf = (schema: JsonSchema): readonly string[] =>
  Array.isArray(schema['required']) ? schema['required'] : []

/** Change each object schema at a path. The path names members only; it passes through lists and alternatives. */
export const eachSchemaAt = (
  schema: JsonSchema,
  path: readonly string[],
  change: (schema: JsonSchema) => JsonSchema,
): JsonSchema => {
  if (isSchema(schema['items'])) return { ...schema, items: eachSchemaAt(schema['items'], path, change) }
  if (!isSchema(schema['properties'])) {
    if (!Array.isArray(schema['anyOf'])) return schema
    return { ...schema, anyOf: schema['anyOf'].map(one => eachSchemaAt(one, path, change)) }
  }
  const [name, ...rest] = path
  if (name === undefined) return change(schema)
  const properties = propertiesOf(schema)
  const inner = properties[name]
  return inner === undefined
    ? schema
    : { ...schema, properties: { ...properties, [name]: eachSchemaAt(inner, rest, change) } }
}

type MemberSchema = { readonly schema: JsonSchema; readonly required: boolean }

const schemaAt = (schema: JsonSchema, path: readonly string[]): MemberSchema | undefined => {
  const [name = '', ...rest] = path
  const inner = propertiesOf(schema)[name]
  if (inner === undefined) return undefined
  // A member is required only if all objects on its path are required.
  const required = requiredOf(schema).includes(name)
  const found: MemberSchema | undefined = rest.length === 0 ? { schema: inner, required: true } : schemaAt(inner, rest)
  return found === undefined ? undefined : { ...found, required: found.required && required }
}

const withoutMember = (schema: JsonSchema, path: readonly string[]): JsonSchema => {
  const [name = '', ...rest] = path
  const { [name]: inner, ...others } = propertiesOf(schema)
  if (inner === undefined) return schema
  const left = rest.length === 0 ? undefined : withoutMember(inner, rest)
  if (left !== undefined && Object.keys(propertiesOf(left)).length > 0)
    return { ...schema, properties: { ...others, [name]: left } }
  return { ...schema, properties: others, required: requiredOf(schema).filter(one => one !== name) }
}

const withMember = (schema: JsonSchema, path: readonly string[], member: MemberSchema): JsonSchema => {
  const [name = '', ...rest] = path
  const properties = propertiesOf(schema)
  const inner =
    rest.length === 0 ? member.schema : withMember(properties[name] ?? { type: 'object', properties: {} }, rest, member)
  const required = requiredOf(schema)
  return {
    ...schema,
    properties: { ...properties, [name]: inner },
    required: member.required && !required.includes(name) ? [...required, name] : required,
  }
}

const withRequired = (schema: JsonSchema, name: string): JsonSchema => {
  const required = requiredOf(schema)
  return required.includes(name) ? schema : { ...schema, required: [...required, name] }
}

const translateValues = (schema: JsonSchema, values: Readonly<Record<string, string>>): JsonSchema => {
  const translate = (value: unknown): unknown => (typeof value === 'string' ? (values[value] ?? value) : value)
  const changed: Record<string, unknown> = { ...schema }
  if (Array.isArray(schema['enum'])) changed['enum'] = schema['enum'].map(translate)
  if ('const' in schema) changed['const'] = translate(schema['const'])
  if ('default' in schema) changed['default'] = translate(schema['default'])
  if (Array.isArray(schema['anyOf'])) changed['anyOf'] = schema['anyOf'].map(one => translateValues(one, values))
  return changed
}

const renameMembers = (schema: JsonSchema, fieldRenames: readonly FieldRename[]): JsonSchema => {
  const members = fieldRenames
    .map(move => ({ move, found: schemaAt(schema, move.from) }))
    .filter(one => one.found !== undefined)
  let renamed = schema
  for (const { move } of members.toSorted((a, b) => b.move.from.length - a.move.from.length))
    renamed = withoutMember(renamed, move.from)
  for (const { move, found } of members.toSorted((a, b) => (a.move.to?.length ?? 0) - (b.move.to?.length ?? 0))) {
    if (move.to === null || found === undefined) continue
    renamed = withMember(renamed, move.to, { ...found, schema: translateValues(found.schema, move.values) })
  }
  return renamed
}

/** Describe a schema in an API version: apply the renames of the values to their schema. */
export const schemaInApiVersion = (
  schema: JsonSchema,
  renames: readonly VersionRename[],
  apiVersion: ApiVersion,
): JsonSchema => {
  let changed = schema
  if (apiVersion === 'current') {
    for (const rename of renames) {
      if ('alwaysInCurrent' in rename) {
        const path = pathNames(rename.alwaysInCurrent)
        changed = eachSchemaAt(changed, path.slice(0, -1), one => withRequired(one, path.at(-1) ?? ''))
      }
      if (!('inRequest' in rename)) continue
      const names = pathNames(rename.earlier)
      changed = eachSchemaAt(changed, names.slice(0, -1), one => withoutMember(one, names.slice(-1)))
    }
    return changed
  }
  for (const fieldRenames of fieldRenamesTo(renames, 'earlier')) {
    changed = eachSchemaAt(changed, fieldRenames[0]?.shared ?? [], one => renameMembers(one, fieldRenames))
  }
  for (const rename of renames) {
    if (!('constant' in rename)) continue
    const names = pathNames(rename.earlier)
    const constant = { schema: { const: rename.constant }, required: true }
    changed = eachSchemaAt(changed, names.slice(0, -1), one => withMember(one, names.slice(-1), constant))
  }
  return changed
}

/** Describe a shape as JSON Schema, as callers write it. */
export const schemaOf = (shape: z.ZodType): JsonSchema => {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The converter of zod drops defaults and examples of shapes with a transform.
      const { def } = zodSchema._zod
      if (def.type === 'default') jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue
      const examples = z.globalRegistry.get(zodSchema)?.['examples']
      if (Array.isArray(examples)) jsonSchema.examples = examples
      // One word for alternatives: the values of `kind` tell them apart.
      if (jsonSchema.oneOf !== undefined) {
        jsonSchema.anyOf = jsonSchema.oneOf
        delete jsonSchema.oneOf
      }
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}
