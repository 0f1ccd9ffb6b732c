import { isExactNumber } from './exact-number.ts'

/** Object of a JSON value. */
export type JsonObject = Readonly<Record<string, unknown>>

export const pathNames = (path: string): readonly string[] => path.split('.')

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

/** Write a path for callers: `data[3].start_time`. */
export const formatPath = (path: readonly (string | number)[]): string => {
  let written = ''
  for (const step of path) written += typeof step === 'number' ? `[${step}]` : `${written === '' ? '' : '.'}${step}`
  return written
}

/**
 * Change each object at a path. The path passes through arrays; absent members stay absent.
 * Returns copies of the changed parts and the same references for unchanged parts. Never mutates the value.
 */
export const mapObjectsAt = (
  value: unknown,
  path: readonly string[],
  change: (members: JsonObject) => JsonObject,
): unknown => {
  if (Array.isArray(value)) {
    const changed = value.map(element => mapObjectsAt(element, path, change))
    return changed.every((element, index) => element === value[index]) ? value : changed
  }
  if (!isJsonObject(value)) return value
  const [name, ...rest] = path
  if (name === undefined) return change(value)
  if (!Object.hasOwn(value, name)) return value
  const changed = mapObjectsAt(value[name], rest, change)
  return changed === value[name] ? value : { ...value, [name]: changed }
}

/** Return the member at a path of objects; undefined if the member is absent. */
export const memberAt = (members: JsonObject, path: readonly string[]): unknown => {
  let value: unknown = members
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Remove the member at a path, and the objects on the path that become empty. */
export const removeMember = (members: JsonObject, path: readonly string[]): JsonObject => {
  const [name = '', ...rest] = path
  const { [name]: member, ...others } = members
  if (rest.length === 0 || !isJsonObject(member)) return rest.length === 0 ? others : members
  const remaining = removeMember(member, rest)
  return Object.keys(remaining).length === 0 ? others : { ...members, [name]: remaining }
}

/** Set the member at a path. Creates missing objects on the path. */
export const putMember = (members: JsonObject, path: readonly string[], value: unknown): JsonObject => {
  const [name = '', ...rest] = path
  if (rest.length === 0) return { ...members, [name]: value }
  const inner = members[name]
  return { ...members, [name]: putMember(isJsonObject(inner) ? inner : {}, rest, value) }
}

/** Member at a path: its own path with array indexes, and its value. */
export type JsonPathMatch = { readonly path: readonly (string | number)[]; readonly value: unknown }

/** Find all members at a path. The path passes through arrays. */
export const findMembers = (
  value: unknown,
  path: readonly string[],
  prefix: readonly (string | number)[] = [],
): readonly JsonPathMatch[] => {
  if (Array.isArray(value)) return value.flatMap((element, index) => findMembers(element, path, [...prefix, index]))
  const [name, ...rest] = path
  if (name === undefined || !isJsonObject(value) || !Object.hasOwn(value, name)) return []
  const memberPath = [...prefix, name]
  return rest.length === 0 ? [{ path: memberPath, value: value[name] }] : findMembers(value[name], rest, memberPath)
}
