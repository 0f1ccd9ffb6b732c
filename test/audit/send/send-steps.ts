import type { Step } from '../history/plan-steps.ts'
import { type SendContext, sizeOf } from './entries.ts'
import { sendChange } from './send-change.ts'
import { type StepResult, submit } from './submit.ts'

/** Send steps in order, over concurrent senders. A step waits until the step in its `after` is done. */
export const sendSteps = async (sending: SendContext, steps: readonly Step[]): Promise<void> => {
  const results = new Map<Step, Promise<StepResult>>()
  const send = async (step: Step, operation: number): Promise<StepResult> => {
    const before = (step.after === null ? undefined : await results.get(step.after)) ?? { uncertain: [] }
    if (step.kind !== 'change') return submit(sending, step, operation, before)
    await sendChange(sending, step.change, operation)
    return before
  }
  const left = steps.entries()
  const sender = async (): Promise<void> => {
    for (const [operation, step] of left) {
      await sending.waitForTurn(sizeOf(step))
      const done = send(step, operation)
      results.set(step, done)
      await done
    }
  }
  await Promise.all(Array.from({ length: sending.connections }, sender))
}
