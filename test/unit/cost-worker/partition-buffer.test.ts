import { expect, it } from 'vitest'
import { openPartitionBuffer } from '../../../services/cost-worker/partition-buffer.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { openPartitions } from '../../support/partitions/open-partitions.ts'
import { until } from '../../support/system/until.ts'

const never = new AbortController().signal

const message = (bytes: number) => ({ key: 'key', value: Buffer.alloc(bytes), headers: {} })

/** Append messages of some bytes to partition 0, and open a buffer that has read ahead at least `readyBytes`. */
const openBuffer = async (sizes: readonly number[], readyBytes: number) => {
  const partitions = await openPartitions(2)
  await Promise.all(sizes.map(bytes => partitions.log.append(recordTopic, 0, message(bytes))))
  const buffer = await openPartitionBuffer(partitions.log, 'worker')
  // A take of one byte starts to read ahead.
  const [first] = await buffer.take(1, never)
  await until(
    async () => buffer.readyBytes(),
    bytes => bytes >= readyBytes,
  )
  return {
    buffer,
    first,
    [Symbol.asyncDispose]: async () => {
      await buffer.close()
      await partitions[Symbol.asyncDispose]()
    },
  }
}

it('a step takes a thousand small messages of a partition at once, in order', async () => {
  const sizes = Array.from({ length: 1_000 }, (_, index) => 100 + (index % 7))
  const bytesAfterFirst = sizes.slice(1).reduce((sum, bytes) => sum + bytes, 0)
  await using opened = await openBuffer(sizes, bytesAfterFirst)
  expect(opened.first?.messages.map(({ offset }) => offset)).toEqual([0])
  const fetched = await opened.buffer.take(4_000_000, never)
  expect(fetched.map(({ messages }) => messages.map(({ offset }) => offset))).toEqual([
    Array.from({ length: 999 }, (_, index) => index + 1),
  ])
  expect(opened.buffer.readyBytes()).toBe(0)
})

it('bytes bound what is read ahead, and messages that were read are read again after a rewind', async () => {
  const messageBytes = 100_000
  const [messages, most] = [40, 12]
  await using opened = await openBuffer(Array<number>(messages).fill(messageBytes), 5 * messageBytes)
  expect(opened.buffer.readyBytes()).toBeLessThanOrEqual(most * messageBytes)
  await opened.buffer.rewind()
  const offsets: number[] = []
  while (offsets.length < messages)
    for (const { messages: taken } of await opened.buffer.take(4_000_000, never))
      offsets.push(...taken.map(({ offset }) => offset))
  expect(offsets).toEqual(Array.from({ length: messages }, (_, index) => index))
})
