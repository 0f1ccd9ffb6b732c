import { isObject, type JsonSchema } from './json-schema.ts'
import type { DocumentedOperation } from './openapi.ts'

/**
 * Position of an id in a request: a path or query parameter, or a member of the body (`0` is the first list element).
 */
export type IdPath =
  | { readonly in: 'path' | 'query'; readonly name: string; readonly prefix: string }
  | { readonly in: 'body'; readonly path: readonly (string | number)[]; readonly prefix: string }

const idPattern = /^([a-z]{3})_[0-9a-f]{24,32}$/

const prefixIn = (values: readonly unknown[]): string | undefined =>
  values
    .map(value => (typeof value === 'string' ? idPattern.exec(value)?.[1] : undefined))
    .find(prefix => prefix !== undefined)

const examplesOf = (schema: JsonSchema): readonly unknown[] => {
  const own = Array.isArray(schema['examples']) ? schema['examples'] : []
  const inner = Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isObject).flatMap(examplesOf) : []
  return [...own, ...inner]
}

const alternatives = (schema: JsonSchema): readonly JsonSchema[] =>
  Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isObject).flatMap(alternatives) : [schema]

/** Members of a body that are ids, without the members that only the server sets. */
const idPathsInBody = (schema: JsonSchema, path: readonly (string | number)[] = []): readonly IdPath[] => {
  if (schema['readOnly'] === true) return []
  const prefix = prefixIn(examplesOf(schema))
  if (prefix !== undefined) return [{ in: 'body', path, prefix }]
  const found = alternatives(schema).flatMap(one => {
    if (isObject(one['items'])) return idPathsInBody(one['items'], [...path, 0])
    const properties = isObject(one['properties']) ? Object.entries(one['properties']) : []
    return properties.flatMap(([name, member]) => (isObject(member) ? idPathsInBody(member, [...path, name]) : []))
  })
  // Alternatives can have the same member.
  return [...new Map(found.map(idPath => [JSON.stringify(idPath), idPath])).values()]
}

/** Prefix of the cursors of a list: the prefix of the ids of its objects. */
const cursorPrefix = ({ success }: DocumentedOperation): string | undefined => {
  const list = success.schema['properties']
  const data = isObject(list) && isObject(list['data']) ? list['data']['items'] : undefined
  const ids = (isObject(data) ? alternatives(data) : []).map(
    one => isObject(one['properties']) && one['properties']['id'],
  )
  return prefixIn(ids.filter(isObject).flatMap(examplesOf))
}

const cursors = ['starting_after', 'ending_before']

/** List the positions of ids in the requests of an operation. Throws for an id parameter without a known prefix. */
export const idPathsOf = (operation: DocumentedOperation): readonly IdPath[] => {
  const inParameters = operation.parameters.flatMap((parameter): readonly IdPath[] => {
    const { name, example } = parameter
    if (cursors.includes(name)) {
      const prefix = cursorPrefix(operation)
      if (prefix === undefined) throw new Error(`${operation.id}: the id prefix of ${name} is unknown`)
      return [{ in: 'query', name, prefix }]
    }
    // The caller chooses the id of an import: a new one is no error.
    if (name === 'import_id') return []
    const isId =
      (parameter.in === 'path' && name !== 'version') ||
      (name.endsWith('_id') && !name.endsWith('reference_id')) ||
      name === 'session_reference_id'
    if (!isId) return []
    const prefix =
      prefixIn([example]) ??
      (example?.toString().startsWith('session') || name === 'session_reference_id' ? 'session' : undefined)
    const kind = prefix ?? (name === 'object_id' ? 'dev' : undefined)
    if (kind === undefined) throw new Error(`${operation.id}: the id prefix of ${name} is unknown`)
    return [{ in: parameter.in, name, prefix: kind }]
  })
  return [...inParameters, ...(operation.body === null ? [] : idPathsInBody(operation.body.schema))]
}
