import { accepted, type Refusal, type Result, refused } from '../domain/refusal.ts'
import { type Layout, otherLayout, versionOf } from './layout.ts'
import { eachAt, type Members, memberAt, namesOf, placesOf, putMember, removeMember, writePath } from './member-path.ts'

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
export type Rename =
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
export type Move = {
  readonly shared: readonly string[]
  readonly from: readonly string[]
  readonly to: readonly string[] | null
  readonly values: Readonly<Record<string, string>>
  readonly prefixes: Readonly<Record<string, string>>
}

const sharedNames = (a: readonly string[], b: readonly string[]): readonly string[] => {
  let count = 0
  while (count < Math.min(a.length, b.length) - 1 && a[count] === b[count]) count += 1
  return a.slice(0, count)
}

const inverted = (words: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(words).map(([current, earlier]) => [earlier, current]))

const reworded = ({ values, prefixes }: Move, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  const word = Object.hasOwn(values, value) ? values[value] : undefined
  if (word !== undefined) return word
  for (const [from, to] of Object.entries(prefixes)) if (value.startsWith(`${from}_`)) return `${to}${value.slice(from.length)}`
  return value
}

const moveOf = (rename: Rename, to: Layout): Move | null => {
  if (rename.current === undefined) return null
  const current = namesOf(rename.current)
  if (rename.earlier === undefined) {
    const dropped = { shared: current.slice(0, -1), from: current.slice(-1), to: null, values: {}, prefixes: {} }
    return to === 'earlier' ? dropped : null
  }
  const earlier = namesOf(rename.earlier)
  const shared = sharedNames(current, earlier)
  const [values, prefixes] = [rename.values ?? {}, rename.prefixes ?? {}]
  const [ownCurrent, ownEarlier] = [current.slice(shared.length), earlier.slice(shared.length)]
  if (to === 'earlier') return { shared, from: ownCurrent, to: ownEarlier, values, prefixes }
  return { shared, from: ownEarlier, to: ownCurrent, values: inverted(values), prefixes: inverted(prefixes) }
}

/** Renames that work in the same objects: the places to remove, deep ones first, and what is put, shallow names first. */
type Moves = { readonly shared: readonly string[]; readonly removals: readonly Move[]; readonly puts: readonly Move[] }

/** Values are taken before any is put, deep names removed before shallow ones, so that names may change places. */
const moveMembers = (members: Members, { removals, puts }: Moves): Members => {
  if (!puts.some(({ from }) => Object.hasOwn(members, from[0] ?? ''))) return members
  const values = puts.map(move => memberAt(members, move.from))
  let moved = members
  for (const { from } of removals) if (memberAt(moved, from) !== undefined) moved = removeMember(moved, from)
  for (const [index, move] of puts.entries()) {
    const value = values[index]
    if (value !== undefined && move.to !== null) moved = putMember(moved, move.to, reworded(move, value))
  }
  return moved
}

const inOrder = (moves: readonly Move[]): Moves => ({
  shared: moves[0]?.shared ?? [],
  removals: moves.toSorted((a, b) => b.from.length - a.from.length),
  puts: moves.toSorted((a, b) => (a.to?.length ?? 0) - (b.to?.length ?? 0)),
})

/** Gather renames by the objects they work in, the deepest first. */
export const movesTo = (renames: readonly Rename[], to: Layout): readonly (readonly Move[])[] => {
  const groups = Map.groupBy(
    renames.map(rename => moveOf(rename, to)).filter(move => move !== null),
    move => move.shared.join('.'),
  )
  return [...groups.values()].toSorted((a, b) => (b[0]?.shared.length ?? 0) - (a[0]?.shared.length ?? 0))
}

const translate = (value: unknown, renames: readonly Rename[], to: Layout): unknown =>
  movesTo(renames, to)
    .map(inOrder)
    .reduce((translated, moves) => eachAt(translated, moves.shared, members => moveMembers(members, moves)), value)

/** Translate an answer of the current layout into the earlier one. Its members stay what they are but for the renames. */
export const answerToEarlier = (answer: unknown, renames: readonly Rename[]): unknown => {
  let translated = translate(answer, renames, 'earlier')
  for (const rename of renames) {
    if (!('constant' in rename)) continue
    const names = namesOf(rename.earlier)
    translated = eachAt(translated, names.slice(0, -1), members => ({ ...members, [names.at(-1) ?? '']: rename.constant }))
  }
  return translated
}

/**
 * Translate a request of either layout into the names of the current one.
 * Refuses a member of the other layout, naming the right one.
 * Source: docs/rules/versions-and-transport.md #members-of-the-other-version.
 */
export const requestFromLayout = (request: unknown, renames: readonly Rename[], layout: Layout): Result<unknown> => {
  const foreign = foreignMember(request, renames, layout)
  if (foreign !== null) return { ok: false, refusal: foreign }
  if (layout === 'current') return accepted(request)
  const conflict = conflictingNames(request, renames)
  return conflict === null ? accepted(translate(request, renames, 'current')) : { ok: false, refusal: conflict }
}

/** Refuse two names of one member with different values: one of the two values would be lost. */
const conflictingNames = (request: unknown, renames: readonly Rename[]): Refusal | null => {
  const named = renames.filter(rename => rename.current !== undefined && rename.earlier !== undefined)
  for (const [, group] of Map.groupBy(named, rename => rename.current)) {
    const [first, ...others] = group.map(rename => rename.earlier ?? '')
    if (first === undefined) continue
    const values = new Map(placesOf(request, namesOf(first)).map(({ path, value }) => [writePath(path.slice(0, -1)), value]))
    for (const other of others) {
      for (const { path, value } of placesOf(request, namesOf(other))) {
        const at = writePath(path.slice(0, -1))
        if (!values.has(at) || values.get(at) === value) continue
        const [name, otherName] = [namesOf(first).at(-1), namesOf(other).at(-1)]
        return asWritten(refused('field_invalid', `${otherName} must equal ${name}; send one of the two names`, writePath(path)).refusal)
      }
    }
  }
  return null
}

const nameIn = (rename: Rename, layout: Layout): string | undefined => (layout === 'current' ? rename.current : rename.earlier)

const foreignMember = (request: unknown, renames: readonly Rename[], layout: Layout): Refusal | null => {
  const own = new Set(renames.map(rename => nameIn(rename, layout)))
  for (const rename of renames) {
    const foreign = nameIn(rename, otherLayout(layout))
    const right = nameIn(rename, layout)
    if (foreign !== undefined && !own.has(foreign) && !('constant' in rename)) {
      const [place] = placesOf(request, namesOf(foreign))
      if (place !== undefined) return foreignRefusal(writePath(place.path), namesOf(foreign).at(-1) ?? '', right, layout)
    }
    const fault = layout === 'earlier' ? foreignWord(request, rename) : null
    if (fault !== null) return fault
  }
  return null
}

const foreignRefusal = (field: string, name: string, right: string | undefined, layout: Layout): Refusal => {
  const owner = `${name} belongs to Api-Version ${versionOf[otherLayout(layout)]}`
  const advice = right === undefined ? 'leave it out' : `use ${right.split('.').at(-1)}`
  return asWritten(refused('unknown_field', `${owner}; with ${versionOf[layout]} ${advice}`, field).refusal)
}

/** Refusals that name members in the words of their request already; a second translation would name wrong ones. */
const written = new WeakSet<Refusal>()

const asWritten = (refusal: Refusal): Refusal => {
  written.add(refusal)
  return refusal
}

const foreignWord = (request: unknown, rename: Rename): Refusal | null => {
  if (rename.current === undefined || rename.earlier === undefined || rename.values === undefined) return null
  const words = Object.values(rename.values)
  for (const { path, value } of placesOf(request, namesOf(rename.earlier))) {
    if (typeof value !== 'string' || words.includes(value) || !Object.hasOwn(rename.values, value)) continue
    return asWritten(refused('field_invalid', `${namesOf(rename.earlier).at(-1)} must be ${words.join(' or ')}`, writePath(path)).refusal)
  }
  return null
}

const steps = (field: string): string[] => field.match(/\[\d+\]|[^.[]+/g) ?? []

const fieldToEarlier = (field: string, renames: readonly Rename[]): string => {
  const written = steps(field)
  const names = written.filter(step => !step.startsWith('['))
  let best: { current: readonly string[]; earlier: readonly string[] } | undefined
  for (const rename of renames) {
    if (rename.current === undefined || rename.earlier === undefined) continue
    const current = namesOf(rename.current)
    if (current.length <= (best?.current.length ?? 0) || !current.every((name, index) => names[index] === name)) continue
    best = { current, earlier: namesOf(rename.earlier) }
  }
  if (best === undefined) return field
  const shared = sharedNames(best.current, best.earlier).length
  let seen = 0
  const cut = written.findIndex(step => !step.startsWith('[') && ++seen > shared)
  const rest = names.slice(best.current.length)
  return writePath(
    [...written.slice(0, cut), ...best.earlier.slice(shared), ...rest].map(step =>
      step.startsWith('[') ? Number(step.slice(1, -1)) : step,
    ),
  )
}

/** Names with an underscore and words in capitals are no English, so they can be told apart in a sentence. */
const isTechnical = (word: string): boolean => word.includes('_') || /^[A-Z]+$/.test(word)

const wordsOf = (renames: readonly Rename[]): ReadonlyMap<string, string> => {
  const words = new Map<string, string>()
  for (const rename of renames) {
    if (rename.current === undefined || rename.earlier === undefined) continue
    const pairs = [[rename.current.split('.').at(-1), rename.earlier.split('.').at(-1)], ...Object.entries(rename.values ?? {})]
    for (const [current = '', earlier = ''] of pairs) if (isTechnical(current) && !words.has(current)) words.set(current, earlier)
  }
  return words
}

/**
 * Put a refusal into the words of the earlier layout: its field, and the names that its message tells the caller to use.
 * Returns a refusal that is in those words already as it is.
 */
export const refusalToEarlier = (refusal: Refusal, renames: readonly Rename[]): Refusal => {
  if (written.has(refusal)) return refusal
  const words = wordsOf(renames)
  const message = refusal.message.replace(/[A-Za-z_]+/g, word => words.get(word) ?? word)
  return asWritten(
    refusal.field === undefined ? { ...refusal, message } : { ...refusal, message, field: fieldToEarlier(refusal.field, renames) },
  )
}
