import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientName, clients, type Value } from './clients.ts'
import type { SenderReport } from './verify-log.ts'

/**
 * Writes with one client until a message tells it to stop, then sends what it was told. Forked with client, brokers, prefix and partitions.
 * What is rejected is not sent again: new values follow, as they do in a service.
 */
const [name = '', brokers = '', prefix = '', partitions = ''] = process.argv.slice(2)
const client = clients[name as ClientName]
const senders = 4
const valuesPerSend = 250
const settleMs = 20_000
const padding = ' '.repeat(200)

const writer = await client.open({ brokers: brokers.split(','), prefix })
const stop = new AbortController()
const report: { acknowledged: [number, number, number][]; rejected: number; longestPauseMs: number; stuck: number } = {
  ...{ acknowledged: [], rejected: 0, longestPauseMs: 0, stuck: 0 },
}

const valueAt = (sender: number, number: number): Value => ({
  partition: client.spans ? number % Number(partitions) : sender % Number(partitions),
  value: Buffer.from(`${sender} ${number}${padding}`),
})

const write = async (sender: number): Promise<void> => {
  let answeredAt = performance.now()
  for (let from = 0; !stop.signal.aborted; from += valuesPerSend) {
    const values = Array.from({ length: valuesPerSend }, (_, index) => valueAt(sender, from + index))
    try {
      await writer.send(values)
      report.acknowledged.push([sender, from, from + valuesPerSend])
      report.longestPauseMs = Math.max(report.longestPauseMs, performance.now() - answeredAt)
      answeredAt = performance.now()
    } catch {
      report.rejected += 1
      await sleep(50)
    }
  }
}

process.once('message', () => stop.abort())
process.once('disconnect', () => process.exit(0))
process.send?.('writes')
let running = senders
const writing = Array.from({ length: senders }, (_, sender) =>
  write(sender).finally(() => {
    running -= 1
  }),
)
await new Promise(resolve => stop.signal.addEventListener('abort', resolve))
await Promise.race([Promise.all(writing), sleep(settleMs, undefined, { ref: false })])
process.send?.({ ...report, stuck: running } satisfies SenderReport)
