import { setTimeout as pause } from 'node:timers/promises'
import { type Log, recordTopic } from './log.ts'

const group = 'cost-worker'
const pollMs = 5

/** Call `ask` until it returns a value; null after `limitMs` or if the request is cancelled. */
export const poll = async <T>(
  ask: () => Promise<T | null>,
  limitMs: number,
  signal: AbortSignal,
): Promise<T | null> => {
  const deadline = performance.now() + limitMs
  while (!signal.aborted) {
    const answer = await ask()
    if (answer !== null || performance.now() >= deadline) return answer
    await pause(pollMs)
  }
  return null
}

/** Return whether all messages of a partition before an offset are committed. */
export const isCommitted = async (log: Pick<Log, 'lag'>, partition: number, offset: number): Promise<boolean> =>
  (await log.lag(recordTopic, partition, group)).committed >= offset

/**
 * Wait until the records of a partition that were acknowledged before the call are stored. Returns false after
 * `limitMs`, or if the request is cancelled.
 */
export const waitForRecords = async (
  log: Pick<Log, 'lag'>,
  partition: number,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> => {
  const { end } = await log.lag(recordTopic, partition, group)
  return (await poll(async () => ((await isCommitted(log, partition, end)) ? true : null), limitMs, signal)) === true
}
