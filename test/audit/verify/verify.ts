import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../support/system/client.ts'
import type { DeadLetter } from '../audited-system.ts'
import type { AuditFixture, CreatedLocation } from '../history/create-fixture.ts'
import type { Difference, Verdict } from './difference.ts'
import { type JournalSummaries, summarizeJournals } from './summarize-journals.ts'
import { verifyLocations, verifyReceipts } from './verdict.ts'

export type VerificationInput = {
  readonly client: Client
  readonly deadLetters: () => Promise<readonly DeadLetter[]>
  readonly unread: () => Promise<number>
  readonly failedStops: readonly string[]
  readonly fixture: AuditFixture
  readonly journalFile: string
  /** True if stored costs can change after the load, because changes of prices are being applied. */
  readonly hasRepricing: boolean
  /** Unexpected answers. */
  readonly refused: readonly string[]
  readonly observe: (phase: 'recosts' | 'receipts' | 'records', done: number, total: number) => void
}

/** Unread messages at the end of the load, the time until the workers had read them, and those still unread then. */
export type Wait = { readonly messages: number; readonly seconds: number; readonly left: number }

export type AuditVerdict = Verdict & { readonly summaries: JournalSummaries; readonly wait: Wait }

const settleMs = 180_000
const settlePauseMs = 10_000

/** Some locations are deleted at the end. The costs of their records do not change. */
const isDeletedAtEnd = (_: CreatedLocation, index: number): boolean => index % 20 === 2

export const deleteSomeLocations = async (
  client: Client,
  { locations }: AuditFixture,
): Promise<readonly CreatedLocation[]> => {
  const deletedLocations = locations.filter(isDeletedAtEnd)
  for (const { locationId } of deletedLocations) {
    const { status, text } = await client.send('DELETE', `/locations/${locationId}`)
    if (status !== 202 && status !== 404) throw new Error(`The deletion of ${locationId} failed: ${status} ${text}`)
  }
  return deletedLocations
}

const pollMs = 500
/** Recosts of a large fleet need some minutes. Workers that read nothing for this time are stuck. */
const stuckMs = 60_000

/** Wait until the workers have read all messages, or are stuck. Costs follow a change of prices by messages. */
const waitForWorkers = async ({ unread, observe }: Pick<VerificationInput, 'unread' | 'observe'>): Promise<Wait> => {
  const startedAt = performance.now()
  const messages = await unread()
  let [least, changedAt] = [messages, performance.now()]
  while (least > 0 && performance.now() - changedAt < stuckMs) {
    observe('recosts', messages - least, messages)
    await sleep(pollMs)
    const count = await unread()
    if (count < least) [least, changedAt] = [count, performance.now()]
  }
  if (least === 0) observe('recosts', messages, messages)
  return { messages, left: least, seconds: (performance.now() - startedAt) / 1_000 }
}

/**
 * Wait for the workers. Verify the receipts, then all records and months. With `hasRepricing` the verification is repeated until there are no
 * differences, for at most 180 s. Then some locations are deleted and verified again.
 */
export const verify = async ({
  client,
  deadLetters,
  unread,
  failedStops,
  fixture,
  journalFile,
  hasRepricing,
  refused,
  observe,
}: VerificationInput): Promise<AuditVerdict> => {
  const summaries = summarizeJournals(journalFile)
  const wait = await waitForWorkers({ unread, observe })
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
    ...refused.map(found => ({ kind: 'answer', subject: 'a request', expected: 'accepted', found }) as const),
  ]
  let verdict = await verifyAll(fixture.locations)
  // The time limit starts after the first verification, which can take longer than the limit.
  const deadline = performance.now() + settleMs
  while (hasRepricing && verdict.differences.length > 0 && performance.now() < deadline) {
    await sleep(settlePauseMs)
    verdict = await verifyAll(fixture.locations)
  }
  // All sent records can be decoded and priced, so that no dead letter is expected.
  const deadLettered = await deadLetters()
  const deleted = hasRepricing ? await verifyAll(await deleteSomeLocations(client, fixture)) : { differences: [] }
  return {
    ...verdict,
    summaries,
    wait,
    receipts: recordReceipts + readingReceipts,
    differences: [
      ...differences,
      ...verdict.differences,
      ...deleted.differences,
      ...deadLettered.map(
        ({ id, code, reason }) =>
          ({ kind: 'deadLetter', subject: id, expected: 'no dead letter', found: `${code}: ${reason}` }) as const,
      ),
    ],
  }
}
