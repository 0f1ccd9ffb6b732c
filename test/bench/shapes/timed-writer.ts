import { setTimeout as sleep } from 'node:timers/promises'
import type { Message } from '@platformatic/kafka'
import type { SentRecord, ShapeSettings } from './settings.ts'
import { inBatches, readTopic } from './topic-reader.ts'
import { insertUsage, type UsageRow, usageRow } from './usage-table.ts'

const rowsPerFlush = 1_000
const flushMs = 1_000
const attempts = 3
const retryMs = 100
const price = 250_000_000n
const settings = 'async_insert=1, wait_for_async_insert=1'

const flush = async (engineUrl: string, rows: readonly UsageRow[]): Promise<void> => {
  for (let left = attempts; ; left -= 1) {
    try {
      return await insertUsage(engineUrl, rows, settings)
    } catch (error) {
      process.stderr.write(`${String(error)}${left > 1 ? '' : ' The rows are lost.'}\n`)
      if (left === 1) return
      await sleep(retryMs)
    }
  }
}

/** Buffer rows in memory and commit immediately. A loop inserts 1,000 rows, or all buffered rows each second. */
export const timedWriter = async ({ brokers, topic, group, engineUrl }: ShapeSettings): Promise<void> => {
  const waiting: UsageRow[] = []
  const write = async (): Promise<void> => {
    for (let flushedAt = performance.now(); ; ) {
      const isDue = performance.now() - flushedAt >= flushMs && waiting.length > 0
      if (waiting.length < rowsPerFlush && !isDue) await sleep(10)
      else {
        await flush(engineUrl, waiting.splice(0, rowsPerFlush))
        flushedAt = performance.now()
      }
    }
  }
  void write()
  const reader = await readTopic(brokers, topic, group)
  for await (const jobs of inBatches<Message>(reader.messages, 100, 20)) {
    for (const { value } of jobs) {
      for (const sent of JSON.parse(value.toString()) as readonly SentRecord[]) waiting.push(usageRow(sent, price))
    }
    await reader.commit(jobs)
  }
}
