import type { Log } from '../../../services/platform/log/log.ts'

/** What senders were told: ranges of numbers that were acknowledged, by sender. */
export type SenderReport = {
  readonly acknowledged: readonly (readonly [sender: number, from: number, to: number])[]
  readonly rejected: number
  readonly longestPauseMs: number
  /** Senders that still waited long after all brokers were back. */
  readonly stuck: number
}

/** What the brokers hold against what senders were told. */
export type Verdict = {
  readonly acknowledged: number
  readonly lost: number
  readonly repeated: number
  readonly disordered: number
}

const bounds = { maxMessages: 20_000, maxBytes: 32 * 1_048_576 }

/** Read all partitions and compare. */
export const verifyLog = async (log: Log, { acknowledged }: SenderReport): Promise<Verdict> => {
  const topic = 'meter.records.v1'
  const counts = new Map<string, number>()
  const lasts = new Map<string, number>()
  let disordered = 0
  for (let partition = 0; partition < log.partitions(topic); partition += 1) {
    for (let from = 0; ; ) {
      const { messages } = await log.peek(topic, partition, from, bounds)
      for (const { offset, value } of messages) {
        const [sender = '', number = ''] = value.toString('latin1').trimEnd().split(' ')
        counts.set(`${sender} ${number}`, (counts.get(`${sender} ${number}`) ?? 0) + 1)
        const key = `${partition} ${sender}`
        if (Number(number) < (lasts.get(key) ?? -1)) disordered += 1
        lasts.set(key, Number(number))
        from = offset + 1
      }
      if (messages.length === 0) break
    }
  }
  let [all, lost] = [0, 0]
  for (const [sender, from, to] of acknowledged) {
    all += to - from
    for (let number = from; number < to; number += 1) if (!counts.has(`${sender} ${number}`)) lost += 1
  }
  const repeated = [...counts.values()].filter(count => count > 1).length
  return { acknowledged: all, lost, repeated, disordered }
}
