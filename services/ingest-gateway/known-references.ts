import { type FindReferences, type FoundReferences, type OwnReference, type ReferenceKind, referenceKinds } from '../domain/reference.ts'
import { isFailure } from '../platform/failure.ts'
import { answerWithin } from '../platform/patience.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'

/** Own references of records, with the ids found for them. */
export type KnownReferences = {
  /** Find the objects that references name, from memory if it can; asks for the rest in one statement. Throws `Failure` if it cannot. */
  readonly find: FindReferences
  /** Forget the references of a tenant: call after a change of them. */
  readonly forget: (tenant: Tenant) => void
}

/** What was found for a reference, and when, on the clock of `elapsed`. */
type Known = { readonly id: string; readonly foundAt: number }

/** The references of one tenant. A change of them makes another book, so that a search of before writes into none that is read. */
type Book = Readonly<Record<ReferenceKind, Map<string, Known>>>

/** How long an id is used without asking again. In the process that makes a change it counts at once, in others after this time. */
const believedMs = 5_000
/** How long an id is used while PostgreSQL is away. */
const awayMs = 3_600_000
/** A store that has not answered by then is away. */
const answerMs = 5_000
/** How long a request waits to learn again of references that were found before. */
const patienceMs = 1_000
/** After a failed search the store is left alone for a while. */
const pauseMs = 1_000

/**
 * Make the memory of own references. What was not found is asked for each time, so a new object may be used at once. While the store is
 * away, references found in the last hour go on. Above `most` references the memory begins again.
 */
export const knownReferences = (
  find: FindReferences,
  { most = 200_000, elapsed = () => performance.now() }: { readonly most?: number; readonly elapsed?: () => number } = {},
): KnownReferences => {
  const books = new Map<string, Book>()
  let count = 0
  /** Until when the store is not asked about references that were found before. */
  let quietUntil = Number.NEGATIVE_INFINITY

  const nameOf = ({ accountId, liveMode }: Tenant): string => `${accountId}/${liveMode}`

  const sizeOf = (book: Book): number => book.location.size + book.device.size + book.customer.size

  const drop = (name: string): void => {
    const book = books.get(name)
    if (book !== undefined) count -= sizeOf(book)
    books.delete(name)
  }

  const bookOf = (name: string): Book => {
    const book = books.get(name) ?? { location: new Map(), device: new Map(), customer: new Map() }
    books.set(name, book)
    return book
  }

  const remember = (name: string, book: Book, asked: readonly OwnReference[], found: FoundReferences, foundAt: number): void => {
    if (books.get(name) !== book) return
    const before = sizeOf(book)
    for (const { kinds, reference } of asked) {
      for (const kind of kinds) {
        const id = found[kind].get(reference)
        if (id === undefined) book[kind].delete(reference)
        else book[kind].set(reference, { id, foundAt })
      }
    }
    count += sizeOf(book) - before
    for (const oldest of books.keys()) {
      if (count <= most) return
      drop(oldest)
    }
  }

  const search = async (tenant: Tenant, book: Book, asked: readonly OwnReference[], limitMs: number): Promise<FoundReferences> => {
    const foundAt = elapsed()
    try {
      const found = await answerWithin(limitMs, () => find(tenant, asked))
      quietUntil = Number.NEGATIVE_INFINITY
      remember(nameOf(tenant), book, asked, found, foundAt)
      return found
    } catch (error) {
      if (isFailure(error) && error.retriable) quietUntil = elapsed() + pauseMs
      throw error
    }
  }

  /** Take what is in memory of some references into `found`; gives those that were not found at `since` or later. */
  const recall = (book: Book, wanted: readonly OwnReference[], since: number, found: Found): readonly OwnReference[] =>
    wanted.filter(({ kinds, reference }) => {
      for (const kind of kinds) {
        const known = book[kind].get(reference)
        if (known === undefined || known.foundAt < since) return true
        found[kind].set(reference, known.id)
      }
      return false
    })

  return {
    find: async (tenant, wanted) => {
      const book = bookOf(nameOf(tenant))
      const now = elapsed()
      const found = nothingFound()
      const asked = recall(book, wanted, now - believedMs, found)
      if (asked.length === 0) return found
      const held = nothingFound()
      const isHeld = recall(book, asked, now - awayMs, held).length === 0
      if (isHeld && now < quietUntil) return merged(found, held)
      try {
        return merged(found, await search(tenant, book, asked, isHeld ? patienceMs : answerMs))
      } catch (error) {
        if (!isHeld || !isFailure(error) || !error.retriable) throw error
        return merged(found, held)
      }
    },
    forget: tenant => drop(nameOf(tenant)),
  }
}

type Found = Readonly<Record<ReferenceKind, Map<string, string>>>

const nothingFound = (): Found => ({ location: new Map(), device: new Map(), customer: new Map() })

const merged = (into: Found, more: FoundReferences): FoundReferences => {
  for (const kind of referenceKinds) for (const [reference, id] of more[kind]) into[kind].set(reference, id)
  return into
}
