import { setTimeout as pause } from 'node:timers/promises'
import { type Log, recordTopic } from '../platform/log/log.ts'

const group = 'cost-worker'
const pollMs = 5

/** Ask until there is an answer; null once `limitMs` have passed or the request is given up. */
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

/** Tell where a lane ends: the offset that its next message will get. */
export const partitionEnd = async (log: Pick<Log, 'lag'>, partition: number): Promise<number> =>
  (await log.lag(recordTopic, partition, group)).end

/** Tell whether everything before an offset of a lane is stored. */
export const isCommitted = async (log: Pick<Log, 'lag'>, partition: number, offset: number): Promise<boolean> =>
  (await log.lag(recordTopic, partition, group)).committed >= offset
