import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../support/system/client.ts'
import type { DeadLetter } from '../audited-system.ts'
import type { AuditFixture, CreatedLocation } from '../history/create-fixture.ts'
import { type JournalSummaries, summarizeJournals } from './summarize-journals.ts'
import { type Difference, type Verdict, verifyLocations, verifyReceipts } from './verdict.ts'

export type VerificationInput = {
  readonly client: Client
  readonly deadLetters: () => Promise<readonly DeadLetter[]>
  readonly failedStops: readonly string[]
  readonly fixture: AuditFixture
  readonly journalFile: string
  /** Whether stored costs may still change by themselves. */
  readonly hasRepricing: boolean
  /** Answers that nothing sent deserved. */
  readonly refused: readonly string[]
  readonly observe: (phase: 'receipts' | 'records', done: number, total: number) => void
}

export type AuditVerdict = Verdict & { readonly summaries: JournalSummaries }

const settleMs = 180_000
const settlePauseMs = 10_000

/** Some locations are deleted in the end; what their records cost stays. */
const isDeletedAtEnd = (_: CreatedLocation, index: number): boolean => index % 20 === 2

export const deleteSomeLocations = async (
  client: Client,
  { locations }: AuditFixture,
): Promise<readonly CreatedLocation[]> => {
  const deletedLocations = locations.filter(isDeletedAtEnd)
  for (const { locationId } of deletedLocations) {
    const { status, text } = await client.send('DELETE', `/locations/${locationId}`)
    if (status !== 202 && status !== 404) throw new Error(`${locationId} was not deleted: ${status} ${text}`)
  }
  return deletedLocations
}

/**
 * Judge receipts, then every record and month. Where costs may still change, again and again until nothing differs or time is up; then
 * the doomed locations are deleted and judged once more.
 */
export const verify = async ({
  client,
  deadLetters,
  failedStops,
  fixture,
  journalFile,
  hasRepricing,
  refused,
  observe,
}: VerificationInput): Promise<AuditVerdict> => {
  const summaries = summarizeJournals(journalFile)
  const [recordReceipts, readingReceipts] = [
    summaries.recordSummary.receipts.length,
    summaries.registers.receipts.length,
  ]
  const total = summaries.recordSummary.expectations.size + summaries.registers.intervals.size
  const verifyAll = (locations: readonly CreatedLocation[]) =>
    verifyLocations(client, locations, summaries, done => observe('records', done, total))
  const differences: Difference[] = [
    ...(await verifyReceipts(client, summaries, done => observe('receipts', done, recordReceipts))),
    ...failedStops.map(
      found => ({ kind: 'stop', subject: 'a process', expected: '0 within 15 s of SIGTERM', found }) as const,
    ),
    ...refused.map(found => ({ kind: 'answer', subject: 'a request', expected: 'taken', found }) as const),
  ]
  let verdict = await verifyAll(fixture.locations)
  // The first judging may take longer than all that.
  const deadline = performance.now() + settleMs
  while (hasRepricing && verdict.differences.length > 0 && performance.now() < deadline) {
    await sleep(settlePauseMs)
    verdict = await verifyAll(fixture.locations)
  }
  // All that is sent can be read and priced.
  const deadLettered = await deadLetters()
  const deleted = hasRepricing ? await verifyAll(await deleteSomeLocations(client, fixture)) : { differences: [] }
  return {
    ...verdict,
    summaries,
    receipts: recordReceipts + readingReceipts,
    differences: [
      ...differences,
      ...verdict.differences,
      ...deleted.differences,
      ...deadLettered.map(
        ({ id, code, reason }) =>
          ({ kind: 'aside', subject: id, expected: 'nothing put aside', found: `${code}: ${reason}` }) as const,
      ),
    ],
  }
}
