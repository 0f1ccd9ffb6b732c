import {
  anyKindPrefix,
  type FoundReferences,
  kindPrefixes,
  noReferences,
  type OwnReference,
  type ReferenceKind,
  type Referencing,
  readReference,
} from '../domain/reference.ts'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import { eachAt, type Members, namesOf, placesOf, writePath } from './member-path.ts'
import { quoted } from './nearest-name.ts'

/**
 * Places of an operation that take an id or an own reference, with the kinds of objects that each place may name: the path parameter `id`,
 * query parameters, and members of the body by their paths (`data.device_id`). Names are those of the current API version.
 */
export type ReferencePlaces = {
  readonly id?: readonly ReferenceKind[]
  readonly query?: Readonly<Record<string, readonly ReferenceKind[]>>
  readonly body?: Readonly<Record<string, readonly ReferenceKind[]>>
}

const listed = (words: readonly string[], conjunction: 'and' | 'or'): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`

/** Places of one kind, for declarations. */
export const locationPlace: readonly ReferenceKind[] = ['location']
export const devicePlace: readonly ReferenceKind[] = ['device']
export const customerPlace: readonly ReferenceKind[] = ['customer']

/** The cursors of a list of one kind of objects. */
export const cursorPlaces = (kinds: readonly ReferenceKind[]) => ({ starting_after: kinds, ending_before: kinds })

/** Say that no object of the kinds has the reference. */
export const unknownReference = ({ kinds, reference }: OwnReference): string =>
  `No ${listed(kinds, 'or')} has the reference ${quoted(reference)}`

/**
 * Choose the object that a reference names: its id, or null if no object has the reference. Refuses `reference_ambiguous` if objects of
 * several kinds have it.
 */
export const chooseReferenced = ({ kinds, reference }: OwnReference, found: FoundReferences, field?: string): Result<string | null> => {
  const matching = kinds.filter(kind => found[kind].has(reference))
  const [kind] = matching
  if (matching.length < 2) return accepted(kind === undefined ? null : (found[kind].get(reference) ?? null))
  const objects = listed(
    matching.map(one => `a ${one}`),
    'and',
  )
  const advice = listed(
    matching.map(one => kindPrefixes[one]),
    'or',
  )
  return refused(
    'reference_ambiguous',
    `The reference ${quoted(reference)} is that of ${objects}: write ${advice} before it, in place of ${anyKindPrefix}`,
    field,
  )
}

/** A reference at a place of a query or body: `name` is the path of the place, `field` where it stands in this request. */
type Placed = OwnReference & { readonly name: string; readonly field: string; readonly text: string }

/** Cursors of lists: an operation says itself that it does not know one. */
const cursors = ['starting_after', 'ending_before']

const refuseUnknown = (placed: Placed): Refusal | null => {
  if (cursors.includes(placed.name)) return null
  const [kind, other] = placed.kinds
  // A filter over several kinds matches nothing, as it does for an unknown id.
  if (kind === undefined || other !== undefined) return null
  return refused(`${kind}_not_found`, unknownReference(placed), placed.field).refusal
}

function* idsOf(placed: readonly Placed[]): Referencing<Result<ReadonlyMap<string, string>>> {
  const found = (yield placed) ?? noReferences
  const ids = new Map<string, string>()
  for (const one of placed) {
    const id = chooseReferenced(one, found, one.field)
    if (!id.ok) return id
    const refusal = id.value === null ? refuseUnknown(one) : null
    if (refusal !== null) return { ok: false, refusal }
    if (id.value !== null) ids.set(`${one.name} ${one.text}`, id.value)
  }
  return accepted(ids)
}

/**
 * Put the ids of the objects in place of the references in a query or body; what has none is given back as it is.
 * Refuses `<kind>_not_found` and `reference_ambiguous`, with the field.
 */
export function* withIds(value: unknown, places: ReferencePlaces['body'] = {}): Referencing<Result<unknown>> {
  const placed: Placed[] = []
  for (const [path, kinds] of Object.entries(places)) {
    for (const { path: steps, value: text } of placesOf(value, namesOf(path))) {
      const reference = typeof text === 'string' ? readReference(text, kinds) : null
      if (reference !== null) placed.push({ ...reference, name: path, field: writePath(steps), text: text as string })
    }
  }
  if (placed.length === 0) return accepted(value)
  const ids = yield* idsOf(placed)
  if (!ids.ok) return ids
  return accepted(
    Object.keys(places).reduce((changed, path) => {
      const names = namesOf(path)
      const last = names.at(-1) ?? ''
      return eachAt(changed, names.slice(0, -1), members => withId(members, last, text => ids.value.get(`${path} ${text}`)))
    }, value),
  )
}

const withId = (members: Members, name: string, idOf: (text: string) => string | undefined): Members => {
  const text = members[name]
  const id = typeof text === 'string' ? idOf(text) : undefined
  return id === undefined ? members : { ...members, [name]: id }
}

/** Put the id of the object in place of a reference in the path. Refuses `not_found` and `reference_ambiguous`. */
export function* pathWithId<Parameters extends Readonly<Record<string, string>>>(
  parameters: Parameters,
  kinds: readonly ReferenceKind[] = [],
): Referencing<Result<Parameters>> {
  const reference = kinds.length === 0 || parameters['id'] === undefined ? null : readReference(parameters['id'], kinds)
  if (reference === null) return accepted(parameters)
  const id = chooseReferenced(reference, (yield [reference]) ?? noReferences)
  if (!id.ok) return id
  return id.value === null ? refused('not_found', unknownReference(reference)) : accepted({ ...parameters, id: id.value })
}

/** Codes of own references that name no object, or several. */
export const referenceCodes = ({ id = [], query = {}, body = {} }: ReferencePlaces = {}): readonly RefusalCode[] => {
  const places = Object.entries({ ...query, ...body }).filter(([name]) => !cursors.includes(name))
  const named = places.map(([, kinds]) => kinds).filter(kinds => kinds.length === 1)
  const isAmbiguous = [id, ...Object.values(query)].some(kinds => kinds.length > 1)
  return [...new Set(named.flat())].map((kind): RefusalCode => `${kind}_not_found`).concat(isAmbiguous ? ['reference_ambiguous'] : [])
}

/** Say how the `id` of a path is given where an own reference may stand in its place; undefined where none may. */
export const describeId = (kinds: readonly ReferenceKind[] = []): string | undefined => {
  const [only, other] = kinds
  if (only === undefined) return undefined
  const objects = other === undefined ? `a ${only}` : `a ${kinds.join(', a ')} or the account`
  const decide = other === undefined ? '' : '; location:, device: or customer: in place of reference: names one kind'
  return `The id of ${objects}, or reference: and its own reference${decide}.`
}
