import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '../../../services/platform/failure.ts'
import { type Log, type Message, recordTopic } from '../../../services/platform/log/log.ts'

const message = (text: string): Message => ({ key: text, value: Buffer.from(text), headers: { generation: '0' } })

/** What writers were told of what they wrote. */
export type LogLedger = {
  /** Appends answered, of each writer in the order in which it made them, with their offsets. */
  readonly acknowledged: ReadonlyMap<string, number>
  readonly refused: number
  /** The longest time that a writer was without an answer, in ms. */
  readonly longestPauseMs: number
}

/**
 * Write to partitions until `stop` aborts, so many writers for each, each one message at a time. What is refused as retriable is sent
 * again as a message of its own a moment later; any other refusal rejects.
 */
export const writeUntil = async (
  log: Log,
  partitions: number,
  writers: number,
  stop: AbortSignal,
): Promise<LogLedger> => {
  const acknowledged = new Map<string, number>()
  let refused = 0
  let longestPauseMs = 0
  const write = async (partition: number, writer: number): Promise<void> => {
    let answeredAt = performance.now()
    for (let count = 0; !stop.aborted; count += 1) {
      const text = `${partition} ${writer} ${count}`
      try {
        acknowledged.set(text, await log.append(recordTopic, partition, message(text)))
        longestPauseMs = Math.max(longestPauseMs, performance.now() - answeredAt)
        answeredAt = performance.now()
        await sleep(2)
      } catch (error) {
        if (!isFailure(error) || !error.retriable) throw error
        refused += 1
        await sleep(50)
      }
    }
  }
  const indexes = Array.from({ length: partitions * writers }, (_, index) => index)
  await Promise.all(indexes.map(index => write(index % partitions, Math.floor(index / partitions))))
  return { acknowledged, refused, longestPauseMs }
}

/** What the log holds against what writers were told. */
export type Verdict = {
  /** Acknowledged and not there, or not at the offset that was told. */
  readonly lost: readonly string[]
  /** Written more than once. */
  readonly doubled: readonly string[]
  /** Messages of a writer that stand before an earlier one of it. */
  readonly disordered: readonly string[]
}

/** Read all partitions and compare. */
export const verifyLog = async (log: Log, partitions: number, { acknowledged }: LogLedger): Promise<Verdict> => {
  const offsets = new Map<string, number>()
  const doubled: string[] = []
  const disordered: string[] = []
  const lasts = new Map<string, number>()
  for (let partition = 0; partition < partitions; partition += 1) {
    for (let from = 0; ; ) {
      const { messages } = await log.peek(recordTopic, partition, from, {
        maxMessages: 10_000,
        maxBytes: 64 * 1_048_576,
      })
      for (const { offset, value } of messages) {
        const text = value.toString()
        const [, writer, count] = text.split(' ').map(Number) as [number, number, number]
        const name = `${partition} ${writer}`
        if (offsets.has(text)) doubled.push(text)
        else offsets.set(text, offset)
        if (count < (lasts.get(name) ?? -1)) disordered.push(text)
        lasts.set(name, count)
        from = offset + 1
      }
      if (messages.length === 0) break
    }
  }
  const lost = [...acknowledged].filter(([text, offset]) => offsets.get(text) !== offset).map(([text]) => text)
  return { lost, doubled, disordered }
}
