import { MultipleErrors, ProtocolError } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { type OffsetCommit, openKafkaAssignment } from '../../services/platform/log/kafka/kafka-assignment.ts'
import { logUnavailable } from '../../services/platform/log/kafka/kafka-client.ts'
import { offsetCommitter } from '../../services/platform/log/kafka/kafka-group.ts'
import { recordTopic, type StoredMessage } from '../../services/platform/log/log.ts'

const bounds = { maxMessages: 100, maxBytes: 1_000_000 }

/** Create the result of a fetch from `from` on, up to before `next`. */
const fetched = (from: number, next: number) => ({
  messages: Array.from(
    { length: next - from },
    (_, index): StoredMessage => ({
      offset: from + index,
      timestamp: 0,
      key: '',
      value: Buffer.from(`m ${from + index}`),
      headers: {},
    }),
  ),
  next,
})

const openAssignment = (commit: (position: OffsetCommit) => Promise<void> = async () => undefined) =>
  openKafkaAssignment({
    topic: recordTopic,
    partition: 3,
    group: 'readers',
    committed: 10,
    commit,
    requestMore: () => undefined,
  })

const offsetsOf = (messages: readonly StoredMessage[]): readonly number[] => messages.map(({ offset }) => offset)

describe('a Kafka assignment', () => {
  it('returns each message once if two fetches overlap, in any order', async () => {
    for (const [first, second] of [
      [14, 12],
      [12, 14],
    ] as const) {
      const { assignment, nextFetchOffset, deliver } = openAssignment()
      expect(nextFetchOffset()).toBe(10)
      deliver(fetched(10, first), 10)
      deliver(fetched(10, second), 10)
      expect(nextFetchOffset()).toBe(first)
      deliver(fetched(first, 15), first)
      expect(offsetsOf(await assignment.read(bounds))).toEqual([10, 11, 12, 13, 14])
    }
  })

  it('drops the result of a fetch that started before a rewind', async () => {
    const { assignment, nextFetchOffset, deliver, moveTo } = openAssignment()
    deliver(fetched(10, 12), 10)
    await assignment.read(bounds)
    await assignment.rewind()
    deliver(fetched(12, 14), 12)
    moveTo(40, 12)
    expect(nextFetchOffset()).toBe(10)
    deliver(fetched(10, 12), 10)
    expect(offsetsOf(await assignment.read(bounds))).toEqual([10, 11])
  })

  it('continues at the oldest stored message if its offset no longer exists', () => {
    const { nextFetchOffset, moveTo } = openAssignment()
    moveTo(40, 10)
    expect(nextFetchOffset()).toBe(40)
  })
})

describe('offset commits', () => {
  /** Create commits whose requests are answered by `answer`. */
  const delayedCommits = () => {
    const sent: number[][] = []
    const answers: PromiseWithResolvers<void>[] = []
    const commit = offsetCommitter('a topic', async places => {
      sent.push(places.map(({ next }) => next))
      const answer = Promise.withResolvers<void>()
      answers.push(answer)
      await answer.promise
    })
    return { sent, answers, commit }
  }

  it('leave out a partition that is lost while its commit waits, and reject its commit', async () => {
    const { sent, answers, commit } = delayedCommits()
    const [lost, retained] = [openAssignment(commit), openAssignment(commit)]
    const first = retained.assignment.commit(11)
    const waiting = [lost.assignment.commit(12), retained.assignment.commit(13)]
    lost.lose()
    answers[0]?.resolve()
    await first
    await expect.poll(() => sent.length).toBe(2)
    answers[1]?.resolve()
    await expect(waiting[0]).rejects.toMatchObject({ code: 'lane_lost', retriable: false })
    await waiting[1]
    expect(sent).toEqual([[11], [13]])
  })

  it('are not sent for lost partitions only', async () => {
    const { sent, answers, commit } = delayedCommits()
    const [lost, retained] = [openAssignment(commit), openAssignment(commit)]
    const first = retained.assignment.commit(11)
    const late = lost.assignment.commit(12)
    lost.lose()
    answers[0]?.resolve()
    await first
    await expect(late).rejects.toMatchObject({ code: 'lane_lost' })
    expect(sent).toEqual([[11]])
  })

  it('reject every commit of a refused request', async () => {
    const { answers, commit } = delayedCommits()
    const committed = openAssignment(commit).assignment.commit(11)
    answers[0]?.reject(new Error('the network broke'))
    await expect(committed).rejects.toMatchObject({ code: 'commit_refused' })
  })

  it.each([
    ['ILLEGAL_GENERATION', 'lane_lost'],
    ['UNKNOWN_MEMBER_ID', 'lane_lost'],
    ['REBALANCE_IN_PROGRESS', 'lane_lost'],
    ['FENCED_MEMBER_EPOCH', 'lane_lost'],
    ['STALE_MEMBER_EPOCH', 'lane_lost'],
    ['GROUP_AUTHORIZATION_FAILED', 'commit_refused'],
    ['COORDINATOR_NOT_AVAILABLE', 'commit_refused'],
  ])('fail after %s of the brokers with %s', async (id, code) => {
    const refused = new MultipleErrors('Commit failed.', [new ProtocolError(id)])
    for (const error of [refused, logUnavailable('Kafka: a commit failed.', refused)]) {
      const { answers, commit } = delayedCommits()
      const committed = openAssignment(commit).assignment.commit(11)
      answers[0]?.reject(error)
      await expect(committed).rejects.toMatchObject({ code })
    }
  })
})
