import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { DeadLetterEntry } from './count-outcomes.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { CommitPoint } from './partition-buffer.ts'
import type { StepSummary } from './step.ts'

/** What is to be told in receipts. */
export type ReceiptInput = { readonly summary: StepSummary; readonly poison: readonly PoisonRecord[] }

/** Slow work of a step for one account: its portions that are not stored yet, and what receipts wait for them. */
type SlowAccountWork = { remaining: number; readonly chunks: readonly ChunkHeaders[]; readonly poison: PoisonRecord[] }

/**
 * A step whose effects are under way. Its offsets are committed once all of it is stored, and all before it in the lane; receipts are
 * written for what is stored, so that slow work of one account keeps no other waiting.
 */
export type PendingStep = {
  summary: StepSummary
  poison: readonly PoisonRecord[]
  readonly deadLetters: DeadLetterEntry[]
  uncommitted: readonly CommitPoint[]
  isStored: boolean
  isReceipted: boolean
  readonly slowByAccount: Map<string, SlowAccountWork>
  /** Portions that are not stored yet, by partition. */
  readonly slowTasksByPartition: Map<number, number>
}

/**
 * What may be told and committed now. `ended`: by partition, the steps that end in it with that commit, which stand although all else may be
 * forgotten while it is under way.
 */
export type DueWork = {
  readonly receipts: readonly ReceiptInput[]
  readonly commitPoints: readonly CommitPoint[]
  readonly endedSteps: ReadonlyMap<number, readonly PendingStep[]>
}

export type PendingSteps = {
  readonly add: (step: PendingStep) => void
  readonly isEmpty: () => boolean
  readonly findDue: () => DueWork
  /** Told when receipts of `due` are written. */
  readonly markReceipted: (receipts: readonly ReceiptInput[]) => void
  /** Told when a lane of `due` is committed. */
  readonly markCommitted: (partition: number, nextOffset: number) => void
  readonly clear: () => void
}

const emptySummary: StepSummary = {
  partitionCounts: new Map(),
  submissions: [],
  chunks: [],
  unreadableChunks: [],
  poison: [],
}

/** Begin to account for a step that is not stored yet. */
export const pendingStep = (summary: StepSummary, uncommitted: readonly CommitPoint[]): PendingStep => ({
  ...{
    summary,
    poison: [],
    deadLetters: [],
    uncommitted,
    isStored: false,
    isReceipted: false,
    slowByAccount: new Map(),
    slowTasksByPartition: new Map(),
  },
})

/** A portion of slow work of a step is stored. */
export const finishSlowTask = (step: PendingStep, accountId: string, partition: number): void => {
  const accountWork = step.slowByAccount.get(accountId)
  if (accountWork !== undefined) accountWork.remaining -= 1
  step.slowTasksByPartition.set(partition, (step.slowTasksByPartition.get(partition) ?? 0) - 1)
}

const isBlocked = (step: PendingStep, { assignment }: CommitPoint): boolean =>
  !step.isStored || (step.slowTasksByPartition.get(assignment.partition) ?? 0) > 0

/** Keep the accounts of steps until all is told and committed, in the order of the steps. */
export const pendingSteps = (): PendingSteps => {
  let steps: PendingStep[] = []
  const markWritten = new Map<ReceiptInput, () => void>()

  const receiptsOf = (step: PendingStep): readonly ReceiptInput[] => {
    const found: ReceiptInput[] = []
    if (step.isStored && !step.isReceipted) {
      const receipts = { summary: step.summary, poison: step.poison }
      found.push(receipts)
      markWritten.set(receipts, () => {
        step.isReceipted = true
        step.summary = { ...emptySummary, partitionCounts: step.summary.partitionCounts }
        step.poison = []
      })
    }
    for (const [accountId, { remaining, chunks, poison }] of step.slowByAccount) {
      // What a batch brought of other locations is stored with the step.
      if (remaining > 0 || !step.isStored) continue
      const receipts = { summary: { ...emptySummary, chunks }, poison }
      found.push(receipts)
      markWritten.set(receipts, () => step.slowByAccount.delete(accountId))
    }
    return found
  }

  const removeFinished = (): void => {
    steps = steps.filter(step => step.uncommitted.length > 0 || !step.isReceipted || step.slowByAccount.size > 0)
  }

  return {
    add: step => steps.push(step),
    isEmpty: () => steps.length === 0,
    findDue: () => {
      markWritten.clear()
      const blockedPartitions = new Set<number>()
      const commitPoints: CommitPoint[] = []
      const endedSteps = new Map<number, PendingStep[]>()
      for (const step of steps) {
        for (const point of step.uncommitted) {
          const { partition } = point.assignment
          if (isBlocked(step, point)) blockedPartitions.add(partition)
          if (blockedPartitions.has(partition)) continue
          commitPoints.push(point)
          endedSteps.set(partition, [...(endedSteps.get(partition) ?? []), step])
        }
      }
      return { receipts: steps.flatMap(receiptsOf), commitPoints, endedSteps }
    },
    markReceipted: receipts => {
      for (const point of receipts) markWritten.get(point)?.()
      removeFinished()
    },
    markCommitted: (partition, nextOffset) => {
      for (const step of steps)
        step.uncommitted = step.uncommitted.filter(
          point => point.assignment.partition !== partition || point.nextOffset > nextOffset,
        )
      removeFinished()
    },
    clear: () => {
      steps = []
      markWritten.clear()
    },
  }
}
