import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { Reached } from './lane-buffer.ts'
import type { PutAside } from './ledger.ts'
import type { StepAccount } from './step.ts'

/** What is to be told in receipts. */
export type Receipts = { readonly step: StepAccount; readonly poison: readonly PoisonRecord[] }

/** Slow work of a step for one account: its portions that are not stored yet, and what receipts wait for them. */
type SlowShare = { left: number; readonly chunks: readonly ChunkHeaders[]; readonly poison: PoisonRecord[] }

/**
 * A step whose effects are under way. Its offsets are committed once all of it is stored, and all before it in the lane; receipts are
 * written for what is stored, so that slow work of one account keeps no other waiting.
 */
export type OwedStep = {
  account: StepAccount
  poison: readonly PoisonRecord[]
  readonly aside: PutAside[]
  open: readonly Reached[]
  isStored: boolean
  isReceipted: boolean
  readonly slow: Map<string, SlowShare>
  /** Portions that are not stored yet, by partition. */
  readonly slowLanes: Map<number, number>
}

/**
 * What may be told and committed now. `ended`: by partition, the steps that end in it with that commit, which stand although all else may be
 * forgotten while it is under way.
 */
export type Due = {
  readonly receipts: readonly Receipts[]
  readonly reached: readonly Reached[]
  readonly ended: ReadonlyMap<number, readonly OwedStep[]>
}

export type OwedSteps = {
  readonly add: (step: OwedStep) => void
  readonly isEmpty: () => boolean
  readonly due: () => Due
  /** Told when receipts of `due` are written. */
  readonly receipted: (receipts: readonly Receipts[]) => void
  /** Told when a lane of `due` is committed. */
  readonly committed: (partition: number, next: number) => void
  readonly clear: () => void
}

const nothing: StepAccount = { lanes: new Map(), submissions: [], chunks: [], unreadable: [], poison: [] }

/** Begin to account for a step that is not stored yet. */
export const owedStep = (account: StepAccount, open: readonly Reached[]): OwedStep => ({
  ...{ account, poison: [], aside: [], open, isStored: false, isReceipted: false, slow: new Map(), slowLanes: new Map() },
})

/** A portion of slow work of a step is stored. */
export const endPortion = (step: OwedStep, accountId: string, partition: number): void => {
  const share = step.slow.get(accountId)
  if (share !== undefined) share.left -= 1
  step.slowLanes.set(partition, (step.slowLanes.get(partition) ?? 0) - 1)
}

const isHeld = (step: OwedStep, { lane }: Reached): boolean => !step.isStored || (step.slowLanes.get(lane.partition) ?? 0) > 0

/** Keep the accounts of steps until all is told and committed, in the order of the steps. */
export const owedSteps = (): OwedSteps => {
  let steps: OwedStep[] = []
  const told = new Map<Receipts, () => void>()

  const receiptsOf = (step: OwedStep): readonly Receipts[] => {
    const found: Receipts[] = []
    if (step.isStored && !step.isReceipted) {
      const receipts = { step: step.account, poison: step.poison }
      found.push(receipts)
      told.set(receipts, () => {
        step.isReceipted = true
        step.account = { ...nothing, lanes: step.account.lanes }
        step.poison = []
      })
    }
    for (const [accountId, { left, chunks, poison }] of step.slow) {
      // What a batch brought of other locations is stored with the step.
      if (left > 0 || !step.isStored) continue
      const receipts = { step: { ...nothing, chunks }, poison }
      found.push(receipts)
      told.set(receipts, () => step.slow.delete(accountId))
    }
    return found
  }

  const forgetDone = (): void => {
    steps = steps.filter(step => step.open.length > 0 || !step.isReceipted || step.slow.size > 0)
  }

  return {
    add: step => steps.push(step),
    isEmpty: () => steps.length === 0,
    due: () => {
      told.clear()
      const held = new Set<number>()
      const reached: Reached[] = []
      const ended = new Map<number, OwedStep[]>()
      for (const step of steps) {
        for (const one of step.open) {
          const { partition } = one.lane
          if (isHeld(step, one)) held.add(partition)
          if (held.has(partition)) continue
          reached.push(one)
          ended.set(partition, [...(ended.get(partition) ?? []), step])
        }
      }
      return { receipts: steps.flatMap(receiptsOf), reached, ended }
    },
    receipted: receipts => {
      for (const one of receipts) told.get(one)?.()
      forgetDone()
    },
    committed: (partition, next) => {
      for (const step of steps) step.open = step.open.filter(one => one.lane.partition !== partition || one.next > next)
      forgetDone()
    },
    clear: () => {
      steps = []
      told.clear()
    },
  }
}
