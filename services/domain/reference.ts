/** Kinds of objects that have an own reference (`reference_id`). */
export const referenceKinds = ['location', 'device', 'customer'] as const
export type ReferenceKind = (typeof referenceKinds)[number]

/** An own reference in place of an id, with the kinds of objects that it may name. */
export type OwnReference = { readonly kinds: readonly ReferenceKind[]; readonly reference: string }

/** Objects by kind and own reference: the ids of those that exist. */
export type ReferenceIds = Readonly<Record<ReferenceKind, ReadonlyMap<string, string>>>

/** Find the active objects of a tenant that have these references, in one statement. Throws `Failure` if the store is away. */
export type FindReferences = (
  tenant: { readonly accountId: string; readonly liveMode: boolean },
  references: readonly OwnReference[],
) => Promise<ReferenceIds>

export const noReferenceIds: ReferenceIds = { location: new Map(), device: new Map(), customer: new Map() }

/** Work that yields the references that it needs, and takes what was found of them. */
export type ReferenceResolver<T> = Generator<readonly OwnReference[] | undefined, T, ReferenceIds | undefined>

/** What stands before an own reference: any kind that the place allows, or one kind. */
export const anyKindPrefix = 'reference:'
export const kindPrefixes = {
  location: 'location:',
  device: 'device:',
  customer: 'customer:',
} as const satisfies Record<ReferenceKind, string>

/** Maximum length of an own reference, in characters. */
const maxReferenceLength = 255
/** Maximum length of an id or an own reference with its prefix, in characters. */
export const maxReferenceTextLength = maxReferenceLength + anyKindPrefix.length

/**
 * Read an own reference that stands in place of an id: `reference:depot-7`, or `location:`, `device:` and `customer:` for one kind.
 * Null if the text is no reference to one of the allowed kinds.
 * Source: docs/rules/identifiers-and-lists.md #references.
 */
export const readReference = (text: string, allowedKinds: readonly ReferenceKind[]): OwnReference | null => {
  if (text.startsWith(anyKindPrefix)) return { kinds: allowedKinds, reference: text.slice(anyKindPrefix.length) }
  for (const kind of allowedKinds) {
    if (text.startsWith(kindPrefixes[kind])) return { kinds: [kind], reference: text.slice(kindPrefixes[kind].length) }
  }
  return null
}

/** Tell whether an object can have this reference: 1 to 255 characters without NUL. */
export const isPossibleReference = (reference: string): boolean =>
  reference.length > 0 &&
  reference.length <= 2 * maxReferenceLength &&
  !reference.includes('\0') &&
  (reference.length <= maxReferenceLength || [...reference].length <= maxReferenceLength)
