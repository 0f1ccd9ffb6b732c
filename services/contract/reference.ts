import {
  anyKindPrefix,
  kindPrefixes,
  type OwnReference,
  type ReferenceIds,
  type ReferenceKind,
  readReference,
} from '../domain/reference.ts'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import {
  findMembers,
  formatPath,
  type JsonObject,
  type JsonPathMatch,
  mapObjectsAt,
  pathNames,
} from './json/json-path.ts'
import { quote } from './message-text.ts'

/**
 * Fields of an operation that accept an id or an own reference, each with its kinds of objects. The fields are the path
 * parameter `id`, query parameters, and members of the body by path (`data.device_id`). Names are the current ones.
 */
export type ReferenceFields = {
  readonly id?: readonly ReferenceKind[]
  readonly query?: Readonly<Record<string, readonly ReferenceKind[]>>
  readonly body?: Readonly<Record<string, readonly ReferenceKind[]>>
  /** An unknown reference in the body stays, and the operation refuses its element. */
  readonly keepsUnknown?: true
}

/** Find the ids of the objects that have these references. Throws `Failure` if the store is unavailable. */
export type FindIds = (references: readonly OwnReference[]) => Promise<ReferenceIds>

const joinNouns = (nouns: readonly string[], conjunction: 'and' | 'or'): string =>
  nouns.length < 2 ? nouns.join('') : `${nouns.slice(0, -1).join(', ')} ${conjunction} ${nouns.at(-1)}`

export const locationOnly: readonly ReferenceKind[] = ['location']
export const deviceOnly: readonly ReferenceKind[] = ['device']
export const customerOnly: readonly ReferenceKind[] = ['customer']

/** Cursors of a list of one kind of objects. */
export const cursorReferences = (kinds: readonly ReferenceKind[]) => ({ starting_after: kinds, ending_before: kinds })

/** Message for a reference that no object of the kinds has. */
export const unknownReferenceMessage = ({ kinds, reference }: OwnReference): string =>
  `No ${joinNouns(kinds, 'or')} has the reference ${quote(reference)}`

/**
 * Return the id of the object that has a reference; null if no object has the reference.
 * Refuses `reference_ambiguous` if objects of several kinds have the reference.
 */
export const resolveReference = (
  { kinds, reference }: OwnReference,
  found: ReferenceIds,
  field?: string,
): Result<string | null> => {
  const matching = kinds.filter(kind => found[kind].has(reference))
  const [kind] = matching
  if (matching.length < 2) return accepted(kind === undefined ? null : (found[kind].get(reference) ?? null))
  const objects = joinNouns(
    matching.map(one => `a ${one}`),
    'and',
  )
  const advice = joinNouns(
    matching.map(one => kindPrefixes[one]),
    'or',
  )
  return refused(
    'reference_ambiguous',
    `The reference ${quote(reference)} belongs to ${objects}: use the prefix ${advice} instead of ${anyKindPrefix}`,
    field,
  )
}

/** Reference in a query or body. `name` is the declared path of the field; `field` is the path in this request. */
type FieldReference = OwnReference & { readonly name: string; readonly field: string; readonly text: string }

/** Cursors of lists. The operation itself refuses an unknown cursor. */
const cursors = ['starting_after', 'ending_before']

const refuseUnknown = (references: FieldReference): Refusal | null => {
  if (cursors.includes(references.name)) return null
  const [kind, other] = references.kinds
  // A filter on several kinds matches no object, as for an unknown id.
  if (kind === undefined || other !== undefined) return null
  return refused(`${kind}_not_found`, unknownReferenceMessage(references), references.field).refusal
}

const idsOf = (
  references: readonly FieldReference[],
  found: ReferenceIds,
  keepsUnknown: boolean,
): Result<ReadonlyMap<string, string>> => {
  const ids = new Map<string, string>()
  for (const one of references) {
    const id = resolveReference(one, found, one.field)
    if (!id.ok) return id
    const refusal = id.value === null && !keepsUnknown ? refuseUnknown(one) : null
    if (refusal !== null) return { ok: false, refusal }
    if (id.value !== null) ids.set(`${one.name} ${one.text}`, id.value)
  }
  return accepted(ids)
}

/** Return the entries of a list of ids, or the member itself. */
const entriesOf = (match: JsonPathMatch): readonly JsonPathMatch[] =>
  Array.isArray(match.value) ? match.value.map((value, index) => ({ path: [...match.path, index], value })) : [match]

/**
 * Replace the references in a query or body with the ids of their objects. Returns a value without references
 * unchanged. With `keepsUnknown`, a reference that no object has stays.
 * Refuses `<kind>_not_found` and `reference_ambiguous`, with the field.
 */
export const resolveReferences = async (
  value: unknown,
  findIds: FindIds,
  fields: ReferenceFields['body'] = {},
  keepsUnknown = false,
): Promise<Result<unknown>> => {
  const references: FieldReference[] = []
  for (const [path, kinds] of Object.entries(fields)) {
    for (const { path: steps, value: text } of findMembers(value, pathNames(path)).flatMap(entriesOf)) {
      const reference = typeof text === 'string' ? readReference(text, kinds) : null
      if (reference !== null)
        references.push({ ...reference, name: path, field: formatPath(steps), text: text as string })
    }
  }
  if (references.length === 0) return accepted(value)
  const ids = idsOf(references, await findIds(references), keepsUnknown)
  if (!ids.ok) return ids
  return accepted(
    Object.keys(fields).reduce((changed, path) => {
      const names = pathNames(path)
      const last = names.at(-1) ?? ''
      return mapObjectsAt(changed, names.slice(0, -1), members =>
        replaceWithId(members, last, text => ids.value.get(`${path} ${text}`)),
      )
    }, value),
  )
}

const replaceWithId = (members: JsonObject, name: string, idOf: (text: string) => string | undefined): JsonObject => {
  const value = members[name]
  const replaced = (text: unknown): unknown => (typeof text === 'string' ? (idOf(text) ?? text) : text)
  const changed = Array.isArray(value) ? value.map(replaced) : replaced(value)
  return changed === value ? members : { ...members, [name]: changed }
}

/** Replace a reference in the path with the id of its object. Refuses `not_found` and `reference_ambiguous`. */
export const resolvePathReference = async <Parameters extends Readonly<Record<string, string>>>(
  parameters: Parameters,
  findIds: FindIds,
  kinds: readonly ReferenceKind[] = [],
): Promise<Result<Parameters>> => {
  const reference = kinds.length === 0 || parameters['id'] === undefined ? null : readReference(parameters['id'], kinds)
  if (reference === null) return accepted(parameters)
  const id = resolveReference(reference, await findIds([reference]))
  if (!id.ok) return id
  return id.value === null
    ? refused('not_found', unknownReferenceMessage(reference))
    : accepted({ ...parameters, id: id.value })
}

/** Codes of references that no object has, or that several objects have. */
export const referenceCodes = ({ id = [], query = {}, body = {} }: ReferenceFields = {}): readonly RefusalCode[] => {
  const fields = Object.entries({ ...query, ...body }).filter(([name]) => !cursors.includes(name))
  const singleKinds = fields.map(([, kinds]) => kinds).filter(kinds => kinds.length === 1)
  const isAmbiguous = [id, ...Object.values(query)].some(kinds => kinds.length > 1)
  return [...new Set(singleKinds.flat())]
    .map((kind): RefusalCode => `${kind}_not_found`)
    .concat(isAmbiguous ? ['reference_ambiguous'] : [])
}

/** Describe the `id` of a path that accepts own references; undefined if the path accepts ids only. */
export const describeId = (kinds: readonly ReferenceKind[] = []): string | undefined => {
  const [only, other] = kinds
  if (only === undefined) return undefined
  const objects = other === undefined ? `a ${only}` : `a ${kinds.join(', a ')} or the account`
  const kindAdvice =
    other === undefined ? '' : '. To choose one kind, use location:, device: or customer: instead of reference:'
  return `Id of ${objects}, or reference: and its own reference${kindAdvice}.`
}
