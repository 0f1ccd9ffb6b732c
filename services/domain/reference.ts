import type { Tenant } from './tenant.ts'

/** Kinds of objects that have an own reference (`reference_id`). */
export const referenceKinds = ['location', 'device', 'customer'] as const
export type ReferenceKind = (typeof referenceKinds)[number]

/** Own reference instead of an id, with the kinds of objects that it may name. */
export type OwnReference = { readonly kinds: readonly ReferenceKind[]; readonly reference: string }

/** Ids of the existing objects, by kind and own reference. */
export type ReferenceIds = Readonly<Record<ReferenceKind, ReadonlyMap<string, string>>>

/**
 * Find the active objects of a tenant that have these references, in one statement. Throws `Failure` if the store is
 * unavailable.
 */
export type FindReferences = (tenant: Tenant, references: readonly OwnReference[]) => Promise<ReferenceIds>

export const noReferenceIds: ReferenceIds = { location: new Map(), device: new Map(), customer: new Map() }

/** Prefixes of an own reference: for any kind that the field allows, or for one kind. */
export const anyKindPrefix = 'reference:'
export const kindPrefixes: Readonly<Record<ReferenceKind, string>> = {
  location: 'location:',
  device: 'device:',
  customer: 'customer:',
}

/** Maximum length of an own reference, in characters. */
const maxReferenceLength = 255
/** Maximum length of an id, or of an own reference with its prefix, in characters. */
export const maxReferenceTextLength: number = maxReferenceLength + anyKindPrefix.length

/**
 * Read an own reference given instead of an id: `reference:depot-7` for any kind, `location:`, `device:` or `customer:`
 * for one kind. Null if the text is no reference to an allowed kind.
 * Source: docs/rules/identifiers-and-lists.md #references.
 */
export const readReference = (text: string, allowedKinds: readonly ReferenceKind[]): OwnReference | null => {
  if (text.startsWith(anyKindPrefix)) return { kinds: allowedKinds, reference: text.slice(anyKindPrefix.length) }
  for (const kind of allowedKinds) {
    if (text.startsWith(kindPrefixes[kind])) return { kinds: [kind], reference: text.slice(kindPrefixes[kind].length) }
  }
  return null
}

/** Check if an object can have this reference: 1 to 255 characters without NUL. */
export const isPossibleReference = (reference: string): boolean =>
  reference.length > 0 &&
  reference.length <= 2 * maxReferenceLength &&
  !reference.includes('\0') &&
  (reference.length <= maxReferenceLength || [...reference].length <= maxReferenceLength)
