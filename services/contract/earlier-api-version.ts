import { accepted, type Refusal, type Result, refused } from '../domain/refusal.ts'
import { type ApiVersion, apiVersionDates, otherApiVersion } from './api-version.ts'
import {
  findMembers,
  formatPath,
  type JsonObject,
  mapObjectsAt,
  memberAt,
  pathNames,
  putMember,
  removeMember,
} from './json/json-path.ts'
import { type RequestPart, unknownNameCodes } from './message-text.ts'

/**
 * One difference between the API versions. A path is member names with dots (`data.tariff.cost`). The part of the path
 * that both names share passes through arrays.
 * - `current` and `earlier`: one value with two names. `values` maps current enum values to earlier ones.
 *   `prefixes` maps id prefixes.
 * - Several renames with the same `current`: earlier answers repeat the value under each name.
 * - `earlier` with `constant`: an additional member of earlier answers with a constant value.
 * - `earlier` with `inRequest`: a member of earlier requests only. The shape uses this name.
 * - `current` only: a member that the earlier version does not have.
 * - `alwaysInCurrent`: a member of answers that is optional in the earlier version only.
 */
export type VersionRename =
  | {
      readonly current: string
      readonly earlier: string
      readonly values?: Readonly<Record<string, string>>
      readonly prefixes?: Readonly<Record<string, string>>
    }
  | { readonly current?: never; readonly earlier: string; readonly constant: unknown }
  | { readonly current?: never; readonly earlier: string; readonly inRequest: true }
  | { readonly current: string; readonly earlier?: never }
  | { readonly current?: never; readonly earlier?: never; readonly alwaysInCurrent: string }

/**
 * Rename in one direction: in each object at `shared`, the value at `from` moves to `to`. A null `to` removes the
 * value.
 */
export type FieldRename = {
  readonly shared: readonly string[]
  readonly from: readonly string[]
  readonly to: readonly string[] | null
  readonly values: Readonly<Record<string, string>>
  readonly prefixes: Readonly<Record<string, string>>
}

const commonNames = (a: readonly string[], b: readonly string[]): readonly string[] => {
  let count = 0
  while (count < Math.min(a.length, b.length) - 1 && a[count] === b[count]) count += 1
  return a.slice(0, count)
}

const invert = (names: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(names).map(([current, earlier]) => [earlier, current]))

const translateValue = ({ values, prefixes }: FieldRename, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  const translated = Object.hasOwn(values, value) ? values[value] : undefined
  if (translated !== undefined) return translated
  for (const [from, to] of Object.entries(prefixes))
    if (value.startsWith(`${from}_`)) return `${to}${value.slice(from.length)}`
  return value
}

const fieldRenameOf = (rename: VersionRename, to: ApiVersion): FieldRename | null => {
  if (rename.current === undefined) return null
  const current = pathNames(rename.current)
  if (rename.earlier === undefined) {
    const removal = { shared: current.slice(0, -1), from: current.slice(-1), to: null, values: {}, prefixes: {} }
    return to === 'earlier' ? removal : null
  }
  const earlier = pathNames(rename.earlier)
  const shared = commonNames(current, earlier)
  const [values, prefixes] = [rename.values ?? {}, rename.prefixes ?? {}]
  const [currentRest, earlierRest] = [current.slice(shared.length), earlier.slice(shared.length)]
  if (to === 'earlier') return { shared, from: currentRest, to: earlierRest, values, prefixes }
  return { shared, from: earlierRest, to: currentRest, values: invert(values), prefixes: invert(prefixes) }
}

/** Renames in the same objects. `removals` are ordered deepest path first, `insertions` shallowest path first. */
type FieldRenameGroup = {
  readonly shared: readonly string[]
  readonly removals: readonly FieldRename[]
  readonly insertions: readonly FieldRename[]
}

/** Rename members of one object. All values are read before the first change, so that two names can be swapped. */
const renameMembers = (members: JsonObject, { removals, insertions }: FieldRenameGroup): JsonObject => {
  if (!insertions.some(({ from }) => Object.hasOwn(members, from[0] ?? ''))) return members
  const values = insertions.map(fieldRename => memberAt(members, fieldRename.from))
  let renamed = members
  for (const { from } of removals) if (memberAt(renamed, from) !== undefined) renamed = removeMember(renamed, from)
  for (const [index, fieldRename] of insertions.entries()) {
    const value = values[index]
    if (value !== undefined && fieldRename.to !== null)
      renamed = putMember(renamed, fieldRename.to, translateValue(fieldRename, value))
  }
  return renamed
}

const groupInOrder = (fieldRenames: readonly FieldRename[]): FieldRenameGroup => ({
  shared: fieldRenames[0]?.shared ?? [],
  removals: fieldRenames.toSorted((a, b) => b.from.length - a.from.length),
  insertions: fieldRenames.toSorted((a, b) => (a.to?.length ?? 0) - (b.to?.length ?? 0)),
})

/** Group renames by the objects that they change, deepest objects first. */
export const fieldRenamesTo = (
  renames: readonly VersionRename[],
  to: ApiVersion,
): readonly (readonly FieldRename[])[] => {
  const groups = Map.groupBy(
    renames.map(rename => fieldRenameOf(rename, to)).filter(fieldRename => fieldRename !== null),
    fieldRename => fieldRename.shared.join('.'),
  )
  return [...groups.values()].toSorted((a, b) => (b[0]?.shared.length ?? 0) - (a[0]?.shared.length ?? 0))
}

const translate = (value: unknown, renames: readonly VersionRename[], to: ApiVersion): unknown =>
  fieldRenamesTo(renames, to)
    .map(groupInOrder)
    .reduce(
      (translated, fieldRenames) =>
        mapObjectsAt(translated, fieldRenames.shared, members => renameMembers(members, fieldRenames)),
      value,
    )

/** Translate an answer from the current API version to the earlier one. Members without a rename stay unchanged. */
export const answerToEarlier = (answer: unknown, renames: readonly VersionRename[]): unknown => {
  let translated = translate(answer, renames, 'earlier')
  for (const rename of renames) {
    if (!('constant' in rename)) continue
    const names = pathNames(rename.earlier)
    translated = mapObjectsAt(translated, names.slice(0, -1), members => ({
      ...members,
      [names.at(-1) ?? '']: rename.constant,
    }))
  }
  return translated
}

/**
 * Translate a request of an API version to current names.
 * Refuses a member of the other version; the message names the member of this version. `part` decides the code.
 * Source: docs/rules/versions-and-transport.md #members-of-the-other-version.
 */
export const requestFromApiVersion = (
  request: unknown,
  renames: readonly VersionRename[],
  apiVersion: ApiVersion,
  part: RequestPart = 'body',
): Result<unknown> => {
  const otherVersionName = refuseOtherVersionMember(request, renames, { apiVersion, part })
  if (otherVersionName !== null) return { ok: false, refusal: otherVersionName }
  if (apiVersion === 'current') return accepted(request)
  const conflict = refuseConflictingNames(request, renames)
  return conflict === null ? accepted(translate(request, renames, 'current')) : { ok: false, refusal: conflict }
}

/** Refuse two names of one member if their values differ, because one value would be lost. */
const refuseConflictingNames = (request: unknown, renames: readonly VersionRename[]): Refusal | null => {
  const renamesOfBoth = renames.filter(rename => rename.current !== undefined && rename.earlier !== undefined)
  for (const [, group] of Map.groupBy(renamesOfBoth, rename => rename.current)) {
    const [first, ...others] = group.map(rename => rename.earlier ?? '')
    if (first === undefined) continue
    const values = new Map(
      findMembers(request, pathNames(first)).map(({ path, value }) => [formatPath(path.slice(0, -1)), value]),
    )
    for (const other of others) {
      for (const { path, value } of findMembers(request, pathNames(other))) {
        const at = formatPath(path.slice(0, -1))
        if (!values.has(at) || values.get(at) === value) continue
        const [name, otherName] = [pathNames(first).at(-1), pathNames(other).at(-1)]
        return markTranslated(
          refused('field_invalid', `${otherName} must equal ${name}; send one of the two names`, formatPath(path))
            .refusal,
        )
      }
    }
  }
  return null
}

const nameInVersion = (rename: VersionRename, apiVersion: ApiVersion): string | undefined =>
  apiVersion === 'current' ? rename.current : rename.earlier

const refuseOtherVersionMember = (
  request: unknown,
  renames: readonly VersionRename[],
  { apiVersion, part }: { readonly apiVersion: ApiVersion; readonly part: RequestPart },
): Refusal | null => {
  const ownNames = new Set(renames.map(rename => nameInVersion(rename, apiVersion)))
  for (const rename of renames) {
    const otherVersionName = nameInVersion(rename, otherApiVersion(apiVersion))
    const ownName = nameInVersion(rename, apiVersion)
    if (otherVersionName !== undefined && !ownNames.has(otherVersionName) && !('constant' in rename)) {
      const [match] = findMembers(request, pathNames(otherVersionName))
      if (match !== undefined)
        return otherVersionRefusal(
          { path: formatPath(match.path), part },
          pathNames(otherVersionName).at(-1) ?? '',
          ownName,
          apiVersion,
        )
    }
    const refusal = apiVersion === 'earlier' ? refuseCurrentValue(request, rename) : null
    if (refusal !== null) return refusal
  }
  return null
}

const otherVersionRefusal = (
  { path, part }: { readonly path: string; readonly part: RequestPart },
  name: string,
  ownName: string | undefined,
  apiVersion: ApiVersion,
): Refusal => {
  const owner = `${name} belongs to Api-Version ${apiVersionDates[otherApiVersion(apiVersion)]}`
  const advice = ownName === undefined ? 'leave it out' : `use ${ownName.split('.').at(-1)}`
  return markTranslated(
    refused(unknownNameCodes[part], `${owner}; with ${apiVersionDates[apiVersion]} ${advice}`, path).refusal,
  )
}

/** Refusals that already use the names of the request's version. A second translation would produce wrong names. */
const translatedRefusals = new WeakSet<Refusal>()

const markTranslated = (refusal: Refusal): Refusal => {
  translatedRefusals.add(refusal)
  return refusal
}

/** Refuse an enum value that only the current version has, in a request of the earlier version. */
const refuseCurrentValue = (request: unknown, rename: VersionRename): Refusal | null => {
  if (rename.current === undefined || rename.earlier === undefined || rename.values === undefined) return null
  const earlierValues = Object.values(rename.values)
  for (const { path, value } of findMembers(request, pathNames(rename.earlier))) {
    if (typeof value !== 'string' || earlierValues.includes(value) || !Object.hasOwn(rename.values, value)) continue
    return markTranslated(
      refused(
        'field_invalid',
        `${pathNames(rename.earlier).at(-1)} must be ${earlierValues.join(' or ')}`,
        formatPath(path),
      ).refusal,
    )
  }
  return null
}

const pathSteps = (field: string): string[] => field.match(/\[\d+\]|[^.[]+/g) ?? []

const fieldToEarlier = (field: string, renames: readonly VersionRename[]): string => {
  const parts = pathSteps(field)
  const names = parts.filter(step => !step.startsWith('['))
  let best: { current: readonly string[]; earlier: readonly string[] } | undefined
  for (const rename of renames) {
    if (rename.current === undefined || rename.earlier === undefined) continue
    const current = pathNames(rename.current)
    if (current.length <= (best?.current.length ?? 0) || !current.every((name, index) => names[index] === name))
      continue
    best = { current, earlier: pathNames(rename.earlier) }
  }
  if (best === undefined) return field
  const shared = commonNames(best.current, best.earlier).length
  let seen = 0
  const cutIndex = parts.findIndex(step => !step.startsWith('[') && ++seen > shared)
  const rest = names.slice(best.current.length)
  return formatPath(
    [...parts.slice(0, cutIndex), ...best.earlier.slice(shared), ...rest].map(step =>
      step.startsWith('[') ? Number(step.slice(1, -1)) : step,
    ),
  )
}

/** A name with an underscore or in capitals cannot be an English word, so a message can be searched for the name. */
const isTechnical = (name: string): boolean => name.includes('_') || /^[A-Z]+$/.test(name)

const earlierNamesOf = (renames: readonly VersionRename[]): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  for (const rename of renames) {
    if (rename.current === undefined || rename.earlier === undefined) continue
    const pairs = [
      [rename.current.split('.').at(-1), rename.earlier.split('.').at(-1)],
      ...Object.entries(rename.values ?? {}),
    ]
    for (const [current = '', earlier = ''] of pairs)
      if (isTechnical(current) && !names.has(current)) names.set(current, earlier)
  }
  return names
}

/**
 * Translate the field of a refusal, and the names in its message, to the earlier API version.
 * Returns a refusal that is already translated without a change.
 */
export const refusalToEarlier = (refusal: Refusal, renames: readonly VersionRename[]): Refusal => {
  if (translatedRefusals.has(refusal)) return refusal
  const names = earlierNamesOf(renames)
  const message = refusal.message.replace(/[A-Za-z_]+/g, name => names.get(name) ?? name)
  return markTranslated(
    refusal.field === undefined
      ? { ...refusal, message }
      : { ...refusal, message, field: fieldToEarlier(refusal.field, renames) },
  )
}
