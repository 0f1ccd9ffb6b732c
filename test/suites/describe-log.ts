import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Assignment,
  type Log,
  type Message,
  recordTopic,
  type StoredMessage,
} from '../../services/platform/log/log.ts'
import { until } from '../support/system/until.ts'

export type LogUnderTest = {
  readonly log: Log
  /** Open the same store again after the first log is closed, or with a new connection. */
  readonly reopen: () => Promise<Log>
  readonly dispose: () => Promise<void>
}

export const bounds = { maxMessages: 1_000, maxBytes: 10_000_000 }

export const textMessage = (text: string): Message => ({
  key: 'acc/loc',
  value: Buffer.from(text),
  headers: { generation: '1', ünïcode: '✓' },
})

export const assignmentsOf = async (
  log: Log,
  group: string,
): Promise<{ readonly assignments: Assignment[]; readonly close: () => Promise<void> }> => {
  const assignments: Assignment[] = []
  const subscription = await log.subscribe(recordTopic, group, assignment => assignments.push(assignment))
  await until(
    () => assignments.length,
    count => count === log.partitions(recordTopic),
  )
  return { assignments, close: subscription.close }
}

export const assignmentOf = async (log: Log, group: string, partition: number): Promise<Assignment> => {
  const { assignments } = await assignmentsOf(log, group)
  const assignment = assignments.find(candidate => candidate.partition === partition)
  if (assignment === undefined) throw new Error(`no lane ${partition}`)
  return assignment
}

const texts = (messages: readonly StoredMessage[]): readonly string[] =>
  messages.map(message => message.value.toString())

/** Behaviour of every log implementation. */
export const describeLog = (name: string, make: () => Promise<LogUnderTest>): void => {
  describe(name, () => {
    let under: LogUnderTest
    let log: Log
    beforeEach(async () => {
      under = await make()
      log = under.log
    })
    afterEach(() => under.dispose())

    it('assigns each message of a partition the next offset, and reads all messages in order', async () => {
      const sent = Array.from({ length: 300 }, (_, i) => `message ${i}`)
      const offsets = await Promise.all(sent.map(text => log.append(recordTopic, 2, textMessage(text))))
      expect(offsets).toEqual(sent.map((_, i) => (offsets[0] ?? Number.NaN) + i))
      const assignment = await assignmentOf(log, 'order', 2)
      const read: StoredMessage[] = []
      while (read.length < sent.length) read.push(...(await assignment.read({ ...bounds, maxMessages: 37 })))
      expect(texts(read)).toEqual(sent)
      expect(read.map(message => message.offset)).toEqual(offsets)
    })

    it('stores key, value, headers and the time of the append', async () => {
      const message = {
        key: 'acc_1/loc_ü',
        value: Buffer.from([0, 255, 1, 128]),
        headers: { chunk: 'a', note: 'größer ✓', empty: '' },
      }
      await log.append(recordTopic, 0, message)
      const [read] = await (await assignmentOf(log, 'whole', 0)).read(bounds)
      expect(read).toMatchObject(message)
      expect(Math.abs((read?.timestamp ?? 0) - Date.now())).toBeLessThan(60_000)
    })

    it('ends a read at its limits, but always returns the first message', async () => {
      for (const size of [1_000, 10, 10, 10])
        await log.append(recordTopic, 1, { ...textMessage(''), value: Buffer.alloc(size, 1) })
      const assignment = await assignmentOf(log, 'bounds', 1)
      expect((await assignment.read({ maxMessages: 10, maxBytes: 25 })).map(m => m.value.length)).toEqual([1_000])
      expect((await assignment.read({ maxMessages: 10, maxBytes: 25 })).map(m => m.value.length)).toEqual([10, 10])
      expect((await assignment.read({ maxMessages: 10, maxBytes: 25 })).map(m => m.value.length)).toEqual([10])
    })

    it('wakes a waiting reader of the partition of a new message only', async () => {
      const { assignments } = await assignmentsOf(log, 'wake')
      const [first, second] = [assignments.find(l => l.partition === 0), assignments.find(l => l.partition === 1)] as [
        Assignment,
        Assignment,
      ]
      const stop = new AbortController()
      const quiet = second.read({ ...bounds, signal: stop.signal })
      const waiting = first.read(bounds)
      await log.append(recordTopic, 0, textMessage('now'))
      expect(texts(await waiting)).toEqual(['now'])
      stop.abort()
      expect(await quiet).toEqual([])
    })

    it('returns uncommitted messages again after a rewind and after a restart', async () => {
      for (const text of ['a', 'b', 'c']) await log.append(recordTopic, 3, textMessage(text))
      const assignment = await assignmentOf(log, 'again', 3)
      const [first] = await assignment.read({ ...bounds, maxMessages: 1 })
      await assignment.commit((first?.offset ?? 0) + 1)
      expect(texts(await assignment.read(bounds))).toEqual(['b', 'c'])
      await assignment.rewind()
      expect(texts(await assignment.read(bounds))).toEqual(['b', 'c'])
      const reopened = await under.reopen()
      expect(texts(await (await assignmentOf(reopened, 'again', 3)).read(bounds))).toEqual(['b', 'c'])
    })

    it('retains a single message after a restart, and assigns the next offset', async () => {
      for (const partition of [0, 7]) await log.append(recordTopic, partition, textMessage('first'))
      const reopened = await under.reopen()
      for (const partition of [0, 7]) {
        expect(await reopened.append(recordTopic, partition, textMessage('second'))).toBe(1)
        expect(texts(await (await assignmentOf(reopened, `single-${partition}`, partition)).read(bounds))).toEqual([
          'first',
          'second',
        ])
      }
    })

    it('lets groups read the same messages independently', async () => {
      await log.append(recordTopic, 0, textMessage('both'))
      const one = await assignmentOf(log, 'one', 0)
      expect(texts(await one.read(bounds))).toEqual(['both'])
      await one.commit(1)
      expect(texts(await (await assignmentOf(log, 'other', 0)).read(bounds))).toEqual(['both'])
    })

    it('reports the unread messages of a group', async () => {
      expect(await log.lag(recordTopic, 0, 'behind')).toMatchObject({
        end: 0,
        committed: 0,
        firstUnreadAgeMs: 0,
        fill: 0,
      })
      for (const text of ['a', 'b', 'c']) await log.append(recordTopic, 0, textMessage(text))
      const assignment = await assignmentOf(log, 'behind', 0)
      await assignment.read(bounds)
      await assignment.commit(2)
      const lag = await log.lag(recordTopic, 0, 'behind')
      expect(lag).toMatchObject({ end: 3, committed: 2 })
      expect(lag.fill).toBeGreaterThan(0)
      await assignment.commit(3)
      expect(await log.lag(recordTopic, 0, 'behind')).toMatchObject({
        end: 3,
        committed: 3,
        firstUnreadAgeMs: 0,
        fill: 0,
      })
    })

    it('peeks at messages from an offset on without waiting or moving a group', async () => {
      expect(await log.peek(recordTopic, 4, 0, bounds)).toMatchObject({ messages: [], begin: 0, end: 0 })
      for (const text of ['a', 'b', 'c', 'd']) await log.append(recordTopic, 4, textMessage(text))
      const assignment = await assignmentOf(log, 'peeked', 4)
      await assignment.read({ ...bounds, maxMessages: 1 })
      await assignment.commit(1)
      const seen = await log.peek(recordTopic, 4, 1, { ...bounds, maxMessages: 2 })
      expect([texts(seen.messages), seen.messages.map(({ offset }) => offset)]).toEqual([
        ['b', 'c'],
        [1, 2],
      ])
      expect([seen.begin, seen.end]).toEqual([0, 4])
      expect(texts((await log.peek(recordTopic, 4, 0, { ...bounds, maxBytes: 1 })).messages)).toEqual(['a'])
      expect((await log.peek(recordTopic, 4, 4, bounds)).messages).toEqual([])
      expect(await log.lag(recordTopic, 4, 'peeked')).toMatchObject({ end: 4, committed: 1 })
      expect(texts(await assignment.read(bounds))).toEqual(['b', 'c', 'd'])
    })

    it('never decreases a committed offset', async () => {
      for (const text of ['a', 'b', 'c']) await log.append(recordTopic, 0, textMessage(text))
      const assignment = await assignmentOf(log, 'forward', 0)
      await assignment.commit(3)
      await assignment.commit(1)
      expect((await log.lag(recordTopic, 0, 'forward')).committed).toBe(3)
    })

    it('loses the assignments when a subscription ends: reads end, commits are refused', async () => {
      await log.append(recordTopic, 0, textMessage('a'))
      const { assignments, close } = await assignmentsOf(log, 'gone')
      const assignment = assignments.find(candidate => candidate.partition === 0) as Assignment
      await assignment.read(bounds)
      const waiting = assignment.read(bounds)
      await close()
      expect(await waiting).toEqual([])
      expect(assignment.lost.aborted).toBe(true)
      await expect(assignment.commit(1)).rejects.toMatchObject({ code: 'lane_lost', retriable: false })
    })

    it('refuses a message that is too large', async () => {
      const message = { ...textMessage(''), value: Buffer.alloc(1_048_577) }
      await expect(log.append(recordTopic, 0, message)).rejects.toMatchObject({
        code: 'message_too_large',
        retriable: false,
      })
    })
  })
}
