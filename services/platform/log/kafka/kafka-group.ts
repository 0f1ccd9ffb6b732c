import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, findErrorBy, type MessagesStream } from '@platformatic/kafka'
import type { Assignment, Subscription, TopicName } from '../log.ts'
import { type OffsetCommit, openKafkaAssignment } from './kafka-assignment.ts'
import { kafkaAssignments } from './kafka-assignments.ts'
import { clientOptions, type KafkaAddress, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import { offsetCommitter } from './kafka-commits.ts'
import { openFetcher } from './kafka-fetcher.ts'
import type { Offsets } from './kafka-offsets.ts'

export type GroupOptions = {
  readonly address: KafkaAddress
  readonly topic: TopicName
  /** The topic's name at the brokers. */
  readonly topicName: string
  readonly group: string
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly onAssigned: (lane: Assignment) => void
  readonly log: (text: string, error?: unknown) => void
}

/** A member of the group as long as it lasts; `broken` resolves once it must be made anew. */
type Member = { readonly consumer: Consumer; readonly broken: PromiseWithResolvers<string>; heartbeatAt: number }

const closeTimeoutMs = 2_000
const retryDelayMs = 500
const checkIntervalMs = 250
/** Codes of a member that the group does not know any more, or knows as another one. */
const fencedCodes = [25, 82, 110, 113]

/**
 * Take part in a group. The member is made anew after any error of its membership or of a commit; all its lanes are lost then. Lanes that
 * the group takes away are lost before the brokers hear that they were given up, and so are all once the session has run out by our clock.
 */
export const joinGroup = (options: GroupOptions): Subscription => {
  const { topic, topicName, group, log } = options
  const stopping = new AbortController()
  let member: Member | null = null

  const commit = offsetCommitter(`${topic} of ${group}`, async offsetCommits => {
    const current = member
    try {
      if (current === null) throw new Error('the group has no such member')
      await withLogTimeout(
        requestTimeoutMs,
        'a commit',
        current.consumer.commit({ offsets: offsetCommits.map(offsetCommit => toKafkaOffset(topicName, offsetCommit)) }),
      )
    } catch (error) {
      current?.broken.resolve('a commit was refused')
      if (member === current) assignments.loseAll()
      throw error
    }
  })
  const { assignments, fetcher } = openAssignments(options, commit)
  const updateAssignments = (owner: Member): void => {
    if (member === owner) assignments.assign(assignedPartitions(owner, topicName))
  }

  /** Be a member until it breaks; gives the reason, null where the group could not be joined. */
  const waitUntilBroken = async ({ joined, member: { broken } }: OpenedMember): Promise<string | null> => {
    try {
      return await Promise.race([joined.then(() => broken.promise), broken.promise])
    } catch (error) {
      log('the group could not be joined', error)
      return null
    }
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const current = openMember(options, updateAssignments)
      member = current.member
      const reason = await waitUntilBroken(current)
      member = null
      assignments.loseAll()
      if (!stopping.signal.aborted && reason !== null) log(`the group is joined anew: ${reason}`)
      await current.close()
      await sleep(retryDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    close: async () => {
      stopping.abort()
      assignments.loseAll()
      member?.broken.resolve('it ends')
      await waitUpTo(2 * closeTimeoutMs, running)
      await fetcher.close()
    },
  }
}

const toKafkaOffset = (topic: string, { partition, next }: OffsetCommit) => ({
  topic,
  partition,
  offset: BigInt(next),
  leaderEpoch: -1,
})

const assignedPartitions = ({ consumer }: Member, topicName: string): ReadonlySet<number> =>
  new Set(consumer.assignments?.find(({ topic }) => topic === topicName)?.partitions ?? [])

/** The lanes of a reader, none yet, and what fetches for them. */
const openAssignments = (
  { address, topic, topicName, group, offsetsOf, onAssigned, log }: GroupOptions,
  commit: (offsetCommit: OffsetCommit) => Promise<void>,
) => {
  const assignments = kafkaAssignments({
    ...{ offsetsOf, log },
    openAssignment: (partition, committed) =>
      openKafkaAssignment({ topic, partition, group, committed, commit, requestMore: () => fetcher.wake() }),
    onOpened: added => {
      for (const { assignment } of added) onAssigned(assignment)
      fetcher.wake()
    },
  })
  const fetcher = openFetcher({
    ...{ address, topic: topicName, assignments: assignments.all },
    beginOf: async partition => (await offsetsOf())[partition]?.begin ?? 0,
  })
  return { assignments, fetcher }
}

type OpenedMember = ReturnType<typeof openMember>

const openMember = ({ address, topicName, group }: GroupOptions, updateAssignments: (member: Member) => void) => {
  const consumer = new Consumer({
    ...clientOptions(address, 'reader'),
    groupId: group,
    groupProtocol: 'consumer',
    autocommit: false,
  })
  const broken = Promise.withResolvers<string>()
  const member: Member = { consumer, broken, heartbeatAt: performance.now() }
  const watch = setInterval(() => {
    if (performance.now() - member.heartbeatAt > address.sessionTimeoutMs) broken.resolve('the session ran out')
    else updateAssignments(member)
  }, checkIntervalMs)
  consumer.on('error', () => broken.resolve('the client failed'))
  consumer.on('consumer:heartbeat:start', () => updateAssignments(member))
  consumer.on('consumer:heartbeat:end', () => {
    member.heartbeatAt = performance.now()
    updateAssignments(member)
  })
  consumer.on('consumer:heartbeat:error', ({ error }) => {
    if (fencedCodes.some(code => findErrorBy(error, 'apiCode', code) !== null)) broken.resolve('the member is fenced')
  })

  const streaming = consume(consumer, topicName, () => broken.resolve('the stream ended'))
  const joined = withLogTimeout(address.sessionTimeoutMs, `joining ${group}`, streaming).then(stream => {
    // The stream is the membership alone: what the lanes want is fetched beside it, so that each is as full as its reader lets it be.
    stream.pause()
    consumer.on('consumer:heartbeat:start', () => void stream.pause())
  })
  joined.catch(() => undefined)
  return {
    member,
    joined,
    close: async (): Promise<void> => {
      clearInterval(watch)
      // A client that is closed while it joins calls itself until the stack is full: its joining ends first, as every request does.
      const stream = await streaming.catch(() => null)
      stream?.destroy()
      await waitUpTo(closeTimeoutMs, consumer.close(true))
    },
  }
}

type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>

/** Begin to consume. The stream has its listener in the same turn: an error that nobody listens to ends the process. */
const consume = (consumer: Consumer, topic: string, onFailed: () => void): Promise<Stream> => {
  const { promise, resolve, reject } = Promise.withResolvers<Stream>()
  const modes = { mode: 'committed', fallbackMode: 'earliest' } as const
  consumer.consume({ topics: [topic], ...modes, autocommit: false, maxBytes: 1 }, (error, stream) => {
    stream?.on('error', onFailed)
    if (stream === undefined) reject(error)
    else resolve(stream)
  })
  return promise
}
