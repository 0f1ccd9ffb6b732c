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

const lane = (partition: number): Assignment => ({ topic: recordTopic, partition }) as Assignment
const chunk = (chunkId: string): ChunkHeaders => ({ generation: 1, chunkId, batches: [] })
const account = (chunkId: string): StepSummary => ({
  ...{ partitionCounts: new Map(), submissions: [], chunks: [chunk(chunkId)], unreadableChunks: [], poison: [] },
})

const openSteps = () => {
  const steps = pendingSteps()
  /** A step that read the lanes up to `next`; `slow`: of these accounts one portion each is under way, in a lane. */
  const add = (
    id: string,
    next: Readonly<Record<number, number>>,
    slow: Readonly<Record<string, number>> = {},
  ): PendingStep => {
    const reached = Object.entries(next).map(([partition, offset]) => ({
      assignment: lane(Number(partition)),
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
  /** What is told and committed now. */
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
  it('are told and committed in their order, once', () => {
    const { steps, add, settle } = openSteps()
    const [a, b] = [add('a', { 0: 5, 1: 3 }), add('b', { 0: 9 })]
    expect(settle()).toEqual([[], {}])
    b.isStored = true
    expect(settle()).toEqual([['b'], {}])
    a.isStored = true
    expect(settle()).toEqual([['a'], { 0: 9, 1: 3 }])
    expect([settle(), steps.isEmpty()]).toEqual([[[], {}], true])
  })

  it('wait in their lane for slow work, which keeps receipts of its own account alone', () => {
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

  it('tell of no slow work before the rest of its step is stored, for a batch may have both', () => {
    const { add, settle } = openSteps()
    const a = add('a', { 0: 5 }, { x: 0 })
    finishSlowTask(a, 'x', 0)
    expect(settle()).toEqual([[], {}])
    a.isStored = true
    expect(settle()).toEqual([['a', 'a/x'], { 0: 5 }])
  })

  it('are entered for a lane whose commit comes through after another one has failed and all is forgotten', () => {
    const { steps, add } = openSteps()
    const a = add('a', { 0: 5, 1: 3 })
    a.isStored = true
    const { endedSteps: ended } = steps.findDue()
    steps.clear()
    steps.markCommitted(1, 3)
    expect([...ended]).toEqual([0, 1].map(partition => [partition, [a]]))
  })
})
