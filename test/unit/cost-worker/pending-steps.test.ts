import { describe, expect, it } from 'vitest'
import {
  finishSlowTask,
  type PendingStep,
  pendingStep,
  pendingSteps,
} from '../../../services/cost-worker/pending-steps.ts'
import type { StepSummary } from '../../../services/cost-worker/step.ts'
import type { ChunkHeaders } from '../../../services/platform/log/chunk-headers.ts'
import { type Assignment, recordTopic } from '../../../services/platform/log/log.ts'

const assignmentOf = (partition: number): Assignment => ({ topic: recordTopic, partition }) as Assignment
const chunk = (chunkId: string): ChunkHeaders => ({ generation: 1, chunkId, batches: [] })
const account = (chunkId: string): StepSummary => ({
  partitionCounts: new Map(),
  submissions: [],
  chunks: [chunk(chunkId)],
  unreadableChunks: [],
  poison: [],
})

const openSteps = () => {
  const steps = pendingSteps()
  /** Step that read partitions up to `next`. `slow`: accounts with one unfinished task each, in a partition. */
  const add = (
    id: string,
    next: Readonly<Record<number, number>>,
    slow: Readonly<Record<string, number>> = {},
  ): PendingStep => {
    const reached = Object.entries(next).map(([partition, offset]) => ({
      assignment: assignmentOf(Number(partition)),
      nextOffset: offset,
    }))
    const step = pendingStep(account(id), reached)
    for (const [accountId, partition] of Object.entries(slow)) {
      step.slowByAccount.set(accountId, { remaining: 1, chunks: [chunk(`${id}/${accountId}`)], poison: [] })
      step.slowTasksByPartition.set(partition, (step.slowTasksByPartition.get(partition) ?? 0) + 1)
    }
    steps.add(step)
    return step
  }
  /** Receipts and commits that are due. */
  const settle = () => {
    const { receipts, commitPoints: reached } = steps.findDue()
    steps.markReceipted(receipts)
    const ends = new Map(reached.map(({ assignment: { partition }, nextOffset: next }) => [partition, next]))
    for (const [partition, next] of ends) steps.markCommitted(partition, next)
    return [
      receipts.flatMap(({ summary: step }) => step.chunks.map(({ chunkId }) => chunkId)),
      Object.fromEntries(ends),
    ]
  }
  return { steps, add, settle }
}

describe('steps that are stored', () => {
  it('are receipted and committed in order, once', () => {
    const { steps, add, settle } = openSteps()
    const [a, b] = [add('a', { 0: 5, 1: 3 }), add('b', { 0: 9 })]
    expect(settle()).toEqual([[], {}])
    b.isStored = true
    expect(settle()).toEqual([['b'], {}])
    a.isStored = true
    expect(settle()).toEqual([['a'], { 0: 9, 1: 3 }])
    expect([settle(), steps.isEmpty()]).toEqual([[[], {}], true])
  })

  it('wait in their partition for slow work, which delays only the receipts of its own account', () => {
    const { steps, add, settle } = openSteps()
    const a = add('a', { 0: 5, 1: 3 }, { x: 0, y: 0 })
    const b = add('b', { 0: 9, 1: 8 })
    a.isStored = true
    b.isStored = true
    expect(settle()).toEqual([['a', 'b'], { 1: 8 }])
    finishSlowTask(a, 'y', 0)
    expect(settle()).toEqual([['a/y'], {}])
    finishSlowTask(a, 'x', 0)
    expect(settle()).toEqual([['a/x'], { 0: 9 }])
    expect(steps.isEmpty()).toBe(true)
  })

  it('write no receipts of slow work before the rest of the step is stored: a batch can have both', () => {
    const { add, settle } = openSteps()
    const a = add('a', { 0: 5 }, { x: 0 })
    finishSlowTask(a, 'x', 0)
    expect(settle()).toEqual([[], {}])
    a.isStored = true
    expect(settle()).toEqual([['a', 'a/x'], { 0: 5 }])
  })

  it('are counted for a partition whose commit succeeds after another one failed and all steps were discarded', () => {
    const { steps, add } = openSteps()
    const a = add('a', { 0: 5, 1: 3 })
    a.isStored = true
    const { endedSteps: ended } = steps.findDue()
    steps.clear()
    steps.markCommitted(1, 3)
    expect([...ended]).toEqual([0, 1].map(partition => [partition, [a]]))
  })
})
