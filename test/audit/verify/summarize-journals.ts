import { type JournalEntry, readJournal } from '../../support/ledger/journal.ts'
import { type Expectation, type JournalSummary, summarizeJournal } from '../../support/ledger/summarize-journal.ts'
import type { AuditEntry } from '../send/entries.ts'
import { type RegisterSummary, summarizeRegisters } from './registers.ts'

/**
 * Summary of the client's journal. `byLocation` lists the expectations for each identity, with the intervals of
 * registers.
 */
export type JournalSummaries = {
  readonly recordSummary: JournalSummary
  readonly registers: RegisterSummary
  readonly byLocation: ReadonlyMap<string, ReadonlyMap<string, Expectation>>
}

const isRecordEntry = (entry: AuditEntry): entry is JournalEntry =>
  entry.kind !== 'change' && entry.kind !== 'changed' && entry.kind !== 'readings'

/** Read and summarize the journal of an audit. */
export const summarizeJournals = (file: string): JournalSummaries => {
  const journal = readJournal<AuditEntry>(file)
  const recordSummary = summarizeJournal(journal.filter(isRecordEntry))
  const registers = summarizeRegisters(journal)
  const byLocation = new Map<string, Map<string, Expectation>>()
  const intervals = [...registers.intervals].map(([identity, record]) => [identity, { allowed: [record] }] as const)
  for (const [identity, expectation] of [...recordSummary.expectations, ...intervals]) {
    const locationId = expectation.allowed.find(record => record !== null)?.locationId ?? ''
    const own = byLocation.get(locationId) ?? new Map<string, Expectation>()
    byLocation.set(locationId, own.set(identity, expectation))
  }
  return { recordSummary, registers, byLocation }
}
