import { isExactNumber } from './exact-number.ts'

/** An object of a JSON value. */
export type Members = Readonly<Record<string, unknown>>

export const namesOf = (path: string): readonly string[] => path.split('.')

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

/** Write a path as callers read it: `data[3].start_time`. */
export const writePath = (path: readonly (string | number)[]): string => {
  let written = ''
  for (const step of path) written += typeof step === 'number' ? `[${step}]` : `${written === '' ? '' : '.'}${step}`
  return written
}

/**
 * Change every object at a path; arrays on the way are passed through, what is not there stays away. Never mutates: copies what changes,
 * and gives the rest as it was.
 */
export const eachAt = (value: unknown, path: readonly string[], change: (members: Members) => Members): unknown => {
  if (Array.isArray(value)) {
    const changed = value.map(element => eachAt(element, path, change))
    return changed.every((element, index) => element === value[index]) ? value : changed
  }
  if (!isMembers(value)) return value
  const [name, ...rest] = path
  if (name === undefined) return change(value)
  if (!Object.hasOwn(value, name)) return value
  const changed = eachAt(value[name], rest, change)
  return changed === value[name] ? value : { ...value, [name]: changed }
}

/** Read the member at a path of objects; undefined when it is not there. */
export const memberAt = (members: Members, path: readonly string[]): unknown => {
  let value: unknown = members
  for (const name of path) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Remove the member at a path, and the objects on the way that it leaves empty. */
export const removeMember = (members: Members, path: readonly string[]): Members => {
  const [name = '', ...rest] = path
  const { [name]: member, ...others } = members
  if (rest.length === 0 || !isMembers(member)) return rest.length === 0 ? others : members
  const left = removeMember(member, rest)
  return Object.keys(left).length === 0 ? others : { ...members, [name]: left }
}

/** Put a member at a path, making the objects on the way. */
export const putMember = (members: Members, path: readonly string[], value: unknown): Members => {
  const [name = '', ...rest] = path
  if (rest.length === 0) return { ...members, [name]: value }
  const inner = members[name]
  return { ...members, [name]: putMember(isMembers(inner) ? inner : {}, rest, value) }
}

export type Place = { readonly path: readonly (string | number)[]; readonly value: unknown }

/** Find every place where a path ends in a member; arrays on the way are passed through. */
export const placesOf = (value: unknown, path: readonly string[], before: readonly (string | number)[] = []): readonly Place[] => {
  if (Array.isArray(value)) return value.flatMap((element, index) => placesOf(element, path, [...before, index]))
  const [name, ...rest] = path
  if (name === undefined || !isMembers(value) || !Object.hasOwn(value, name)) return []
  const here = [...before, name]
  return rest.length === 0 ? [{ path: here, value: value[name] }] : placesOf(value[name], rest, here)
}
