import type { Step } from '../history/plan-steps.ts'
import { type Sending, sizeOf } from './entries.ts'
import { sendChange } from './send-change.ts'
import { type Done, submit } from './submit.ts'

/** Send steps in their order, several at once, each once the one that it follows is known to be done. */
export const sendSteps = async (sending: Sending, steps: readonly Step[]): Promise<void> => {
  const settled = new Map<Step, Promise<Done>>()
  const send = async (step: Step, operation: number): Promise<Done> => {
    const before = (step.after === null ? undefined : await settled.get(step.after)) ?? { doubtful: [] }
    if (step.kind !== 'change') return submit(sending, step, operation, before)
    await sendChange(sending, step.change, operation)
    return before
  }
  const left = steps.entries()
  const sender = async (): Promise<void> => {
    for (const [operation, step] of left) {
      await sending.turn(sizeOf(step))
      const done = send(step, operation)
      settled.set(step, done)
      await done
    }
  }
  await Promise.all(Array.from({ length: sending.connections }, sender))
}
