import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Client, Reply } from '../system/client.ts'
import { parseExactly } from './exact-decimal.ts'
import { correctRecords, generateSubmission, toWire } from './generate-submission.ts'
import type { Journal, LedgerLocation, LedgerReceipt, LedgerRecord, Outcome } from './journal.ts'

/** Function that returns the client of the running service; null while no service runs. */
export type Target = () => Client | null

export type Load = {
  readonly journal: Journal
  readonly target: Target
  readonly random: Random
  readonly locations: readonly LedgerLocation[]
  /** Maximum number of records in one submission. */
  readonly maxRecords: number
  /** After this total number of records, submitters only repeat or correct earlier submissions. */
  readonly maxTotalRecords: number
  /** Maximum pause of a submitter between two submissions, in ms. */
  readonly maxPauseMs: number
}

type Batch = {
  readonly id: string
  readonly records_submitted: string
  readonly records_accepted: string
  readonly failed_records: readonly { readonly record_num: string }[]
}

export type Answer = {
  readonly outcome: Outcome
  readonly status: number | null
  readonly receipt: LedgerReceipt | null
}

const pauseMs = 20

const receiptOf = (batch: Batch): LedgerReceipt => ({
  batchId: batch.id,
  recordsSubmitted: Number(batch.records_submitted),
  recordsAccepted: Number(batch.records_accepted),
  failedNumbers: batch.failed_records.map(({ record_num }) => Number(record_num)),
})

/** Return the result of an answer. After a 5xx, 401 or 429, the result is unknown. */
export const answerOf = (reply: Reply): Answer => {
  const { status } = reply
  if (status === 200) return { outcome: 'ok', status, receipt: receiptOf(parseExactly(reply.text) as Batch) }
  return { outcome: status >= 500 || status === 401 || status === 429 ? 'unknown' : 'failed', status, receipt: null }
}

/** Concurrent submitters with one journal. */
export type Submitters = {
  /** Submit until the signal aborts. Attempts in flight at that time are completed. */
  readonly run: (count: number, signal: AbortSignal) => Promise<void>
  /** Repeat the submissions with an unknown result until each result is known. */
  readonly resendUnknown: () => Promise<void>
}

type Attempt = { readonly operation: number; readonly attempt: number; readonly body: string }

/** Send an attempt and write its answer into the journal. Without an answer, the result is unknown. */
const sendOnce = async (client: Client, journal: Journal, { operation, attempt, body }: Attempt): Promise<Outcome> => {
  let answer: Answer = { outcome: 'unknown', status: null, receipt: null }
  try {
    answer = answerOf(await client.send('PUT', '/meters/interval', body))
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
  await journal.write({ kind: 'answered', operation, attempt, ...answer })
  return answer.outcome
}

/** A submission with an unknown result. */
type OpenOperation = { readonly records: readonly LedgerRecord[]; attempts: number; hasUnknownAttempt: boolean }

/** Create submitters. A submission is sent one to three times in parallel, and again while its result is unknown. */
export const createSubmitters = (load: Load): Submitters => {
  const { journal, target, random } = load
  /**
   * Submissions of which all attempts were answered. Only these may be corrected, because no attempt can still arrive.
   */
  const answered: (readonly LedgerRecord[])[] = []
  const openOperations = new Map<number, OpenOperation>()
  let operations = 0
  let records = 0

  /** Send an open operation to the running service. Return true if its result is known. */
  const sendOpen = async (operation: number, copies: number): Promise<boolean> => {
    const one = openOperations.get(operation)
    const client = target()
    if (one === undefined || client === null) return one === undefined
    const attempts = Array.from({ length: copies }, () => one.attempts++)
    await journal.write(...attempts.map(attempt => ({ kind: 'sent', operation, attempt }) as const))
    const body = toWire(one.records)
    const outcomes = await Promise.all(attempts.map(attempt => sendOnce(client, journal, { operation, attempt, body })))
    one.hasUnknownAttempt ||= outcomes.includes('unknown')
    if (outcomes.every(outcome => outcome === 'unknown')) return false
    openOperations.delete(operation)
    if (!one.hasUnknownAttempt) answered.push(one.records)
    return true
  }

  const nextRecords = (): readonly LedgerRecord[] | null => {
    const isRepeat = answered.length > 0 && (records >= load.maxTotalRecords || random.chance(0.15))
    if (!isRepeat)
      return records < load.maxTotalRecords
        ? generateSubmission(random, load.locations, 1 + random.below(load.maxRecords), operations)
        : null
    const [known = []] = answered.splice(random.below(answered.length), 1)
    return random.chance(0.5) ? known : correctRecords(random, known)
  }

  const submitOne = async (signal: AbortSignal): Promise<void> => {
    const next = nextRecords()
    if (next === null) return sleep(pauseMs)
    const operation = operations++
    records += next.length
    openOperations.set(operation, { records: next, attempts: 0, hasUnknownAttempt: false })
    await journal.write({ kind: 'submission', operation, records: next })
    while (!(await sendOpen(operation, random.pick([1, 1, 2, 3]))) && !signal.aborted) await sleep(pauseMs)
    if (load.maxPauseMs > 0) await sleep(random.below(load.maxPauseMs))
  }

  return {
    run: async (count, signal) => {
      const submitter = async (): Promise<void> => {
        while (!signal.aborted) await (target() === null ? sleep(pauseMs) : submitOne(signal))
      }
      await Promise.all(Array.from({ length: count }, submitter))
    },
    resendUnknown: async () => {
      for (const operation of [...openOperations.keys()]) while (!(await sendOpen(operation, 1))) await sleep(pauseMs)
    },
  }
}
