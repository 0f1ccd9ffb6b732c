import { type Account, type Book, bookOf } from '../../support/ledger/book.ts'
import { type JournalEntry, readJournal } from '../../support/ledger/journal.ts'
import type { AuditEntry } from '../send/entries.ts'
import { type RegisterBook, readRegisters } from './registers.ts'

/** What the client's journal says must be there, by location: what identities stand for, intervals of registers among them. */
export type Books = {
  readonly book: Book
  readonly registers: RegisterBook
  readonly byLocation: ReadonlyMap<string, ReadonlyMap<string, Account>>
}

const isOfBook = (entry: AuditEntry): entry is JournalEntry =>
  entry.kind !== 'change' && entry.kind !== 'changed' && entry.kind !== 'readings'

/** Make up the books from the journal of an audit. */
export const readBooks = (file: string): Books => {
  const journal = readJournal<AuditEntry>(file)
  const book = bookOf(journal.filter(isOfBook))
  const registers = readRegisters(journal)
  const byLocation = new Map<string, Map<string, Account>>()
  const intervals = [...registers.intervals].map(([identity, record]) => [identity, { allowed: [record] }] as const)
  for (const [identity, account] of [...book.accounts, ...intervals]) {
    const locationId = account.allowed.find(record => record !== null)?.locationId ?? ''
    const own = byLocation.get(locationId) ?? new Map<string, Account>()
    byLocation.set(locationId, own.set(identity, account))
  }
  return { book, registers, byLocation }
}
