import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { DeadLetterEntry } from './count-outcomes.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { CommitPoint } from './partition-buffer.ts'
import type { StepSummary } from './step.ts'

/** Input of the receipts of a step, or of its slow work for one account. */
export type ReceiptInput = { readonly summary: StepSummary; readonly poison: readonly PoisonRecord[] }

/** Slow work of a step for one account: the number of unfinished tasks, and the chunks whose receipts wait for them. */
type SlowAccountWork = { remaining: number; readonly chunks: readonly ChunkHeaders[]; readonly poison: PoisonRecord[] }

/**
 * Step whose effects are not complete. Its offsets are committed after all its effects, and all earlier steps of the
 * partition, are stored.
 * Receipts are written for the stored part, so that slow work of one account does not delay the receipts of others.
 */
export type PendingStep = {
  summary: StepSummary
  poison: readonly PoisonRecord[]
  readonly deadLetters: DeadLetterEntry[]
  uncommitted: readonly CommitPoint[]
  isStored: boolean
  isReceipted: boolean
  readonly slowByAccount: Map<string, SlowAccountWork>
  /** Number of unfinished slow tasks, by partition. */
  readonly slowTasksByPartition: Map<number, number>
}

/**
 * Receipts and commits that are due. `endedSteps`: by partition, the steps that end with its commit. They are valid
 * even if all pending steps are discarded during the commit.
 */
export type DueWork = {
  readonly receipts: readonly ReceiptInput[]
  readonly commitPoints: readonly CommitPoint[]
  readonly endedSteps: ReadonlyMap<number, readonly PendingStep[]>
}

/** Steps whose receipts or commits are not complete, in order. */
export type PendingSteps = {
  readonly add: (step: PendingStep) => void
  readonly isEmpty: () => boolean
  readonly findDue: () => DueWork
  /** Call it after the receipts of `findDue` are written. */
  readonly markReceipted: (receipts: readonly ReceiptInput[]) => void
  /** Call it after a partition of `findDue` is committed. */
  readonly markCommitted: (partition: number, nextOffset: number) => void
  readonly clear: () => void
}

/** Summary of a step without messages. */
export const emptySummary: StepSummary = {
  partitionCounts: new Map(),
  submissions: [],
  chunks: [],
  unreadableChunks: [],
  poison: [],
}

/** Create a pending step of which nothing is stored. */
export const pendingStep = (summary: StepSummary, uncommitted: readonly CommitPoint[]): PendingStep => ({
  summary,
  poison: [],
  deadLetters: [],
  uncommitted,
  isStored: false,
  isReceipted: false,
  slowByAccount: new Map(),
  slowTasksByPartition: new Map(),
})

/** Note that a slow task of a step is stored. */
export const finishSlowTask = (step: PendingStep, accountId: string, partition: number): void => {
  const accountWork = step.slowByAccount.get(accountId)
  if (accountWork !== undefined) accountWork.remaining -= 1
  step.slowTasksByPartition.set(partition, (step.slowTasksByPartition.get(partition) ?? 0) - 1)
}

const isBlocked = (step: PendingStep, { assignment }: CommitPoint): boolean =>
  !step.isStored || (step.slowTasksByPartition.get(assignment.partition) ?? 0) > 0

/** Receipts that are due, each with the function to call after it is written. */
type MarkWritten = Map<ReceiptInput, () => void>

const receiptsOf = (step: PendingStep, markWritten: MarkWritten): readonly ReceiptInput[] => {
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
    // Records of a batch at other locations are stored with the step.
    if (remaining > 0 || !step.isStored) continue
    const receipts = { summary: { ...emptySummary, chunks }, poison }
    found.push(receipts)
    markWritten.set(receipts, () => step.slowByAccount.delete(accountId))
  }
  return found
}

/**
 * Return the offsets to commit, and the steps that end with them. A partition stops at its first step that is not
 * stored.
 */
const commitPointsOf = (steps: readonly PendingStep[]): Omit<DueWork, 'receipts'> => {
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
  return { commitPoints, endedSteps }
}

/** Create an empty list of pending steps. */
export const pendingSteps = (): PendingSteps => {
  let steps: PendingStep[] = []
  const markWritten: MarkWritten = new Map()
  const removeFinished = (): void => {
    steps = steps.filter(step => step.uncommitted.length > 0 || !step.isReceipted || step.slowByAccount.size > 0)
  }
  return {
    add: step => steps.push(step),
    isEmpty: () => steps.length === 0,
    findDue: () => {
      markWritten.clear()
      return { ...commitPointsOf(steps), receipts: steps.flatMap(step => receiptsOf(step, markWritten)) }
    },
    markReceipted: receipts => {
      for (const receipt of receipts) markWritten.get(receipt)?.()
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
