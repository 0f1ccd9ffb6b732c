import { auditReceipt, forEachConcurrently } from '../../support/ledger/audit.ts'
import type { Client } from '../../support/system/client.ts'
import type { CreatedLocation } from '../history/create-fixture.ts'
import type { Difference, Verdict } from './difference.ts'
import { verifyRegisterReceipts } from './registers.ts'
import type { JournalSummaries } from './summarize-journals.ts'
import { verifyLocation } from './verify-location.ts'

/** Compare all receipts with the answers to their submissions, after all accepted records are processed. */
export const verifyReceipts = async (
  client: Client,
  { recordSummary, registers }: JournalSummaries,
  progress: (done: number) => void,
): Promise<readonly Difference[]> => {
  const faults: { receipts: string[] } = { receipts: [] }
  let done = 0
  await forEachConcurrently(recordSummary.receipts, async receipt => {
    await auditReceipt(client, receipt, faults)
    progress(++done)
  })
  const ofRegisters = await verifyRegisterReceipts(client, registers)
  return [
    ...[...faults.receipts, ...ofRegisters].map(
      fault =>
        ({ kind: 'receipt', subject: fault, expected: 'all accepted records processed', found: 'different' }) as const,
    ),
    ...[...recordSummary.contradictions, ...registers.contradictions].map(
      fault => ({ kind: 'answer', subject: fault, expected: 'valid records accepted', found: 'different' }) as const,
    ),
  ]
}

/** Read all locations and compare them with the summary of the journal. */
export const verifyLocations = async (
  client: Client,
  locations: readonly CreatedLocation[],
  { byLocation }: JournalSummaries,
  progress: (records: number) => void,
): Promise<Omit<Verdict, 'receipts'>> => {
  const differences: Difference[] = []
  const counts = { expected: 0, found: 0, unpriced: 0, pieces: 0, months: 0 }
  await forEachConcurrently(locations, async location => {
    const verdict = await verifyLocation(client, location, byLocation.get(location.locationId) ?? new Map())
    for (const difference of verdict.differences) differences.push(difference)
    counts.expected += verdict.expected
    counts.found += verdict.found
    counts.unpriced += verdict.unpriced
    counts.pieces += verdict.pieces
    counts.months += verdict.months
    progress(counts.found)
  })
  return { ...counts, differences }
}
