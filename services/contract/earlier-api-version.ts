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

/**
 * One difference between the layouts. Paths are member names with dots (`data.tariff.cost`); arrays on the part that both names
 * share are passed through.
 * - `current` and `earlier`: the same value under two names. `values` maps words of the current layout to earlier ones, `prefixes`
 *   prefixes of ids. The same `current` may stand in several renames: earlier answers then have the value under each name.
 * - `earlier` with `constant`: a member that earlier answers have besides, always the same.
 * - `earlier` with `inRequest`: a member of earlier requests alone; the shape knows it by this name.
 * - `current` alone: a member that the earlier layout does not have.
 * - `alwaysInCurrent`: a member of answers that only the earlier layout may leave out.
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

/** A rename in one direction: inside every object at `shared`, what is at `from` goes to `to`; null drops it. */
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

const invertWords = (words: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(words).map(([current, earlier]) => [earlier, current]))

const translateValue = ({ values, prefixes }: FieldRename, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  const word = Object.hasOwn(values, value) ? values[value] : undefined
  if (word !== undefined) return word
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
  return { shared, from: earlierRest, to: currentRest, values: invertWords(values), prefixes: invertWords(prefixes) }
}

/** Renames that work in the same objects: the places to remove, deep ones first, and what is put, shallow names first. */
type FieldRenameGroup = {
  readonly shared: readonly string[]
  readonly removals: readonly FieldRename[]
  readonly insertions: readonly FieldRename[]
}

/** Values are taken before any is put, deep names removed before shallow ones, so that names may change places. */
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

/** Gather renames by the objects they work in, the deepest first. */
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

/** Translate an answer of the current layout into the earlier one. Its members stay what they are but for the renames. */
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
 * Translate a request of either layout into the names of the current one.
 * Refuses a member of the other layout, naming the right one.
 * Source: docs/rules/versions-and-transport.md #members-of-the-other-version.
 */
export const requestFromApiVersion = (
  request: unknown,
  renames: readonly VersionRename[],
  apiVersion: ApiVersion,
): Result<unknown> => {
  const otherVersionName = refuseOtherVersionMember(request, renames, apiVersion)
  if (otherVersionName !== null) return { ok: false, refusal: otherVersionName }
  if (apiVersion === 'current') return accepted(request)
  const conflict = refuseConflictingNames(request, renames)
  return conflict === null ? accepted(translate(request, renames, 'current')) : { ok: false, refusal: conflict }
}

/** Refuse two names of one member with different values: one of the two values would be lost. */
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
  apiVersion: ApiVersion,
): Refusal | null => {
  const ownNames = new Set(renames.map(rename => nameInVersion(rename, apiVersion)))
  for (const rename of renames) {
    const otherVersionName = nameInVersion(rename, otherApiVersion(apiVersion))
    const ownName = nameInVersion(rename, apiVersion)
    if (otherVersionName !== undefined && !ownNames.has(otherVersionName) && !('constant' in rename)) {
      const [match] = findMembers(request, pathNames(otherVersionName))
      if (match !== undefined)
        return otherVersionRefusal(
          formatPath(match.path),
          pathNames(otherVersionName).at(-1) ?? '',
          ownName,
          apiVersion,
        )
    }
    const fault = apiVersion === 'earlier' ? refuseOtherVersionWord(request, rename) : null
    if (fault !== null) return fault
  }
  return null
}

const otherVersionRefusal = (
  field: string,
  name: string,
  ownName: string | undefined,
  apiVersion: ApiVersion,
): Refusal => {
  const owner = `${name} belongs to Api-Version ${apiVersionDates[otherApiVersion(apiVersion)]}`
  const advice = ownName === undefined ? 'leave it out' : `use ${ownName.split('.').at(-1)}`
  return markTranslated(
    refused('unknown_field', `${owner}; with ${apiVersionDates[apiVersion]} ${advice}`, field).refusal,
  )
}

/** Refusals that name members in the words of their request already; a second translation would name wrong ones. */
const written = new WeakSet<Refusal>()

const markTranslated = (refusal: Refusal): Refusal => {
  written.add(refusal)
  return refusal
}

const refuseOtherVersionWord = (request: unknown, rename: VersionRename): Refusal | null => {
  if (rename.current === undefined || rename.earlier === undefined || rename.values === undefined) return null
  const words = Object.values(rename.values)
  for (const { path, value } of findMembers(request, pathNames(rename.earlier))) {
    if (typeof value !== 'string' || words.includes(value) || !Object.hasOwn(rename.values, value)) continue
    return markTranslated(
      refused('field_invalid', `${pathNames(rename.earlier).at(-1)} must be ${words.join(' or ')}`, formatPath(path))
        .refusal,
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

/** Names with an underscore and words in capitals are no English, so they can be told apart in a sentence. */
const isTechnical = (word: string): boolean => word.includes('_') || /^[A-Z]+$/.test(word)

const translatedWords = (renames: readonly VersionRename[]): ReadonlyMap<string, string> => {
  const words = new Map<string, string>()
  for (const rename of renames) {
    if (rename.current === undefined || rename.earlier === undefined) continue
    const pairs = [
      [rename.current.split('.').at(-1), rename.earlier.split('.').at(-1)],
      ...Object.entries(rename.values ?? {}),
    ]
    for (const [current = '', earlier = ''] of pairs)
      if (isTechnical(current) && !words.has(current)) words.set(current, earlier)
  }
  return words
}

/**
 * Put a refusal into the words of the earlier layout: its field, and the names that its message tells the caller to use.
 * Returns a refusal that is in those words already as it is.
 */
export const refusalToEarlier = (refusal: Refusal, renames: readonly VersionRename[]): Refusal => {
  if (written.has(refusal)) return refusal
  const words = translatedWords(renames)
  const message = refusal.message.replace(/[A-Za-z_]+/g, word => words.get(word) ?? word)
  return markTranslated(
    refusal.field === undefined
      ? { ...refusal, message }
      : { ...refusal, message, field: fieldToEarlier(refusal.field, renames) },
  )
}
