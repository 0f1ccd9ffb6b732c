import { toWire } from '../../support/ledger/generate-submission.ts'
import type { Journal, JournalEntry, Outcome } from '../../support/ledger/journal.ts'
import type { AuditedSystem, Caller } from '../audited-system.ts'
import type { ChangeRequest } from '../history/plan-changes.ts'
import { type ReadingSubmission, readingsToWire } from '../history/plan-readings.ts'
import type { Step } from '../history/plan-steps.ts'

/** What the client's book has beside submissions of records: those of readings, and changes before they are sent and after their answers. */
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

/** How far the sending is; `refused` are answers that nothing sent deserves, `leftOut` corrections whose original may still arrive. */
export type Progress = { records: number; changes: number; leftOut: number; readonly refused: string[] }

export type SendContext = {
  readonly system: AuditedSystem
  readonly journal: Journal<AuditEntry>
  readonly connections: number
  readonly progress: Progress
  /** Resolves once a step of so many records is due. */
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

/** How many records or readings a step submits. */
export const sizeOf = (step: Step): number => {
  if (step.kind === 'change') return 0
  return step.kind === 'submission' ? step.records.length : step.submission.readings.length
}

/** A connection that broke leaves the fate open; anything else is a fault of the audit. */
export const nullIfBroken = (error: unknown): null => {
  if (error instanceof TypeError) return null
  throw error
}

/** Nothing that is sent is wrong as a whole, and 503 is the only fault that a system may answer. */
export const isUnexpected = (status: number | null, outcome: Outcome): boolean =>
  outcome === 'failed' || (status !== null && status >= 500 && status !== 503)

export const pauseMs = 20
const timeoutMs = 180_000

/** Wait for somebody to send to; throws when an operation that began at `since` takes too long. */
export const waitForCaller = async (
  system: AuditedSystem,
  since: number,
  pause: (ms: number) => Promise<unknown>,
): Promise<Caller> => {
  for (;;) {
    if (performance.now() - since > timeoutMs)
      throw new Error(`an operation had no known fate after ${timeoutMs / 1_000} s`)
    const caller = system.caller()
    if (caller !== null) return caller
    await pause(pauseMs)
  }
}
