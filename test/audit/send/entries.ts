import { toWire } from '../../support/ledger/generate-submission.ts'
import type { Journal, JournalEntry, Outcome } from '../../support/ledger/journal.ts'
import type { AuditedSystem, Caller } from '../audited-system.ts'
import type { ChangeRequest } from '../history/plan-changes.ts'
import { type ReadingSubmission, readingsToWire } from '../history/plan-readings.ts'
import type { Step } from '../history/plan-steps.ts'

/**
 * Entry of the client's journal: submissions of records and readings, and changes before each request and after each
 * answer.
 */
export type AuditEntry =
  | JournalEntry
  | { readonly kind: 'readings'; readonly operation: number; readonly submission: ReadingSubmission }
  | ({ readonly kind: 'change'; readonly operation: number } & ChangeRequest)
  | {
      readonly kind: 'changed'
      readonly operation: number
      readonly outcome: Outcome
      readonly status: number | null
      readonly text: string
    }

/**
 * Progress of the load. `refused` lists unexpected answers; `leftOut` counts corrections whose original may still
 * arrive.
 */
export type Progress = { records: number; changes: number; leftOut: number; readonly refused: string[] }

export type SendContext = {
  readonly system: AuditedSystem
  readonly journal: Journal<AuditEntry>
  readonly connections: number
  readonly progress: Progress
  /** Wait until a step with this number of records is due. */
  readonly waitForTurn: (records: number) => Promise<void>
}

export type Submission = Exclude<Step, { kind: 'change' }>

export const pathOf = { submission: '/meters/interval', readings: '/meters/cumulative/epoch' } as const

export const bodyOf = (step: Submission): string =>
  step.kind === 'submission' ? toWire(step.records) : readingsToWire(step.submission)

export const entryOf = (step: Submission, operation: number): AuditEntry =>
  step.kind === 'submission'
    ? { kind: 'submission', operation, records: step.records }
    : { kind: 'readings', operation, submission: step.submission }

/** Return the number of records or readings of a step. */
export const sizeOf = (step: Step): number => {
  if (step.kind === 'change') return 0
  return step.kind === 'submission' ? step.records.length : step.submission.readings.length
}

/** Return null if the connection broke, because the result of the request is unknown. Other errors are thrown. */
export const nullIfDisconnected = (error: unknown): null => {
  if (error instanceof TypeError) return null
  throw error
}

/** Return true if an answer is unexpected. No request is invalid as a whole, and the only allowed failure is 503. */
export const isUnexpected = (status: number | null, outcome: Outcome): boolean =>
  outcome === 'failed' || (status !== null && status >= 500 && status !== 503)

export const pauseMs = 20
const timeoutMs = 180_000

/** Wait until the system has a client. Throws if an operation that started at `since` takes longer than 180 s. */
export const waitForCaller = async (
  system: AuditedSystem,
  since: number,
  pause: (ms: number) => Promise<unknown>,
): Promise<Caller> => {
  for (;;) {
    if (performance.now() - since > timeoutMs)
      throw new Error(`The result of an operation was unknown after ${timeoutMs / 1_000} s.`)
    const caller = system.caller()
    if (caller !== null) return caller
    await pause(pauseMs)
  }
}
