import type { z } from 'zod'
import { type JsonObject, mapObjectsAt, pathNames } from './json/json-path.ts'
import { isSchema, type JsonSchema, propertiesOf, schemaOf } from './openapi/schema-document.ts'

/**
 * The earlier API version leaves out a member instead of sending null, if the published file calls the member a string.
 * Source: docs/rules/earlier-version.md #null-members.
 */

const alternativesOf = (schema: JsonSchema): readonly JsonSchema[] =>
  Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isSchema) : []

const isNull = (schema: JsonSchema): boolean => schema['type'] === 'null'

/** True if a schema accepts strings and null only. A schema without other rules has both as its `type`. */
const isNullableText = (schema: JsonSchema): boolean => {
  const { type } = schema
  if (Array.isArray(type)) return type.length === 2 && type.includes('string') && type.includes('null')
  const alternatives = alternativesOf(schema)
  return alternatives.length === 2 && alternatives.some(isNull) && alternatives.some(one => one['type'] === 'string')
}

const nullableTextPaths = (schema: JsonSchema, before: readonly string[] = []): readonly string[] => [
  ...Object.entries(propertiesOf(schema)).flatMap(([name, member]) =>
    isNullableText(member) ? [[...before, name].join('.')] : nullableTextPaths(member, [...before, name]),
  ),
  ...(isSchema(schema['items']) ? nullableTextPaths(schema['items'], before) : []),
  ...alternativesOf(schema).flatMap(one => nullableTextPaths(one, before)),
]

type MemberGroup = { readonly parent: readonly string[]; readonly names: readonly string[] }

const groupsOfShape = new WeakMap<z.ZodType, readonly MemberGroup[]>()

const groupsOf = (shape: z.ZodType): readonly MemberGroup[] => {
  const found = groupsOfShape.get(shape)
  if (found !== undefined) return found
  const byParent = Map.groupBy(nullableTextPaths(schemaOf(shape)), path => pathNames(path).slice(0, -1).join('.'))
  const groups = [...byParent].map(([parent, paths]) => ({
    parent: parent === '' ? [] : pathNames(parent),
    names: paths.map(path => pathNames(path).at(-1) ?? ''),
  }))
  groupsOfShape.set(shape, groups)
  return groups
}

const withoutNulls = (members: JsonObject, names: readonly string[]): JsonObject => {
  if (names.every(name => members[name] !== null)) return members
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== null || !names.includes(name)))
}

/** Remove the members of an answer that are null and whose shape is a nullable string. Names are the current ones. */
export const withoutNullTexts = (answer: unknown, shape: z.ZodType): unknown =>
  groupsOf(shape).reduce(
    (remaining, { parent, names }) => mapObjectsAt(remaining, parent, members => withoutNulls(members, names)),
    answer,
  )

/** Change a schema in the same way: a nullable string becomes an optional string. */
export const schemaWithoutNullTexts = (schema: JsonSchema): JsonSchema => {
  const { properties, items, anyOf, required, ...own } = schema
  const members = Object.entries(propertiesOf(schema))
  const optional = members.filter(([, member]) => isNullableText(member)).map(([name]) => name)
  const translated = members.map(([name, member]) => {
    if (!isNullableText(member)) return [name, schemaWithoutNullTexts(member)] as const
    const { anyOf: _, type: _type, ...others } = member
    const text = alternativesOf(member).find(one => !isNull(one)) ?? { type: 'string' }
    return [name, { ...text, ...others }] as const
  })
  return {
    ...own,
    ...(isSchema(items) ? { items: schemaWithoutNullTexts(items) } : items === undefined ? {} : { items }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(one => (isSchema(one) ? schemaWithoutNullTexts(one) : one)) } : {}),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(translated) }),
    ...(Array.isArray(required) ? { required: required.filter(name => !optional.includes(String(name))) } : {}),
  }
}
