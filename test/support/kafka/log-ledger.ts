import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '../../../services/platform/failure.ts'
import { type Log, type Message, recordTopic } from '../../../services/platform/log/log.ts'

const message = (text: string): Message => ({ key: text, value: Buffer.from(text), headers: { generation: '0' } })

/** Results of the appends of all writers. */
export type LogLedger = {
  /** Texts of the acknowledged messages with their offsets, in the order of each writer. */
  readonly acknowledged: ReadonlyMap<string, number>
  readonly refused: number
  /** Longest time in ms between two answers to one writer. */
  readonly longestPauseMs: number
}

/**
 * Write to partitions until `stop` aborts.
 * Each partition has `writers` writers, and each writer has one message in flight.
 * After a retriable failure, the writer continues with its next message. Rejects after any other failure.
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

/** Differences between the log and the results of the writers. */
export type Verdict = {
  /** Acknowledged messages that are missing or have another offset. */
  readonly lost: readonly string[]
  /** Messages that were stored more than once. */
  readonly doubled: readonly string[]
  /** Messages that are stored before an earlier message of their writer. */
  readonly disordered: readonly string[]
}

/** Read all partitions and compare them with the results of the writers. */
export const verifyLog = async (log: Log, partitions: number, { acknowledged }: LogLedger): Promise<Verdict> => {
  const offsets = new Map<string, number>()
  const doubled: string[] = []
  const disordered: string[] = []
  const lastCounts = new Map<string, number>()
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
        if (count < (lastCounts.get(name) ?? -1)) disordered.push(text)
        lastCounts.set(name, count)
        from = offset + 1
      }
      if (messages.length === 0) break
    }
  }
  const lost = [...acknowledged].filter(([text, offset]) => offsets.get(text) !== offset).map(([text]) => text)
  return { lost, doubled, disordered }
}
