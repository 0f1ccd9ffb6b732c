import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, findErrorBy, type MessagesStream } from '@platformatic/kafka'
import { Failure, isFailure } from '../../failure.ts'
import { groupCommit } from '../group-commit.ts'
import type { Assignment, Subscription, TopicName } from '../log.ts'
import { type KafkaAssignment, type OffsetCommit, openKafkaAssignment } from './kafka-assignment.ts'
import { clientOptions, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import { openFetcher } from './kafka-fetcher.ts'
import type { Offsets } from './kafka-offsets.ts'
import type { KafkaAddress } from './kafka-settings.ts'

type KafkaAssignmentsOptions = {
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly openAssignment: (partition: number, committed: number) => KafkaAssignment
  readonly onOpened: (assignments: readonly KafkaAssignment[]) => void
  readonly log: (text: string, error?: unknown) => void
}

/** The current assignments of a group member. */
type KafkaAssignments = {
  readonly all: () => Iterable<KafkaAssignment>
  /** Assign these partitions and no others. Removed partitions are lost when this returns; new ones are opened soon. */
  readonly assign: (assigned: ReadonlySet<number>) => void
  readonly loseAll: () => void
}

/** Create an empty set of assignments. The next `assign` opens again an assignment that could not be opened. */
const kafkaAssignments = ({ offsetsOf, openAssignment, onOpened, log }: KafkaAssignmentsOptions): KafkaAssignments => {
  const assignments = new Map<number, KafkaAssignment>()
  /** Partitions whose assignments are being opened, with the attempt. */
  const opening = new Map<number, symbol>()

  /**
   * Open assignments at their committed offsets. A partition that was taken away meanwhile is skipped, even if it was
   * assigned again.
   */
  const open = async (partitions: readonly number[], attempt: symbol): Promise<void> => {
    const isWanted = (partition: number): boolean => opening.get(partition) === attempt
    try {
      const offsets = await offsetsOf()
      const created = partitions
        .filter(isWanted)
        .map(partition => openAssignment(partition, offsets[partition]?.committed ?? 0))
      for (const assignment of created) assignments.set(assignment.partition, assignment)
      onOpened(created)
    } catch (error) {
      log('Assignments could not be opened', error)
    }
    for (const partition of partitions.filter(isWanted)) opening.delete(partition)
  }

  return {
    all: () => assignments.values(),
    assign: assigned => {
      for (const partition of [...assignments.keys(), ...opening.keys()].filter(one => !assigned.has(one))) {
        assignments.get(partition)?.lose()
        assignments.delete(partition)
        opening.delete(partition)
      }
      const missing = [...assigned].filter(partition => !assignments.has(partition) && !opening.has(partition))
      if (missing.length === 0) return
      const attempt = Symbol()
      for (const partition of missing) opening.set(partition, attempt)
      void open(missing, attempt)
    },
    loseAll: () => {
      for (const assignment of assignments.values()) assignment.lose()
      assignments.clear()
      opening.clear()
    },
  }
}

export type GroupOptions = {
  readonly address: KafkaAddress
  readonly topic: TopicName
  /** Name of the topic at the brokers. */
  readonly topicName: string
  readonly group: string
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly onAssigned: (assignment: Assignment) => void
  readonly log: (text: string, error?: unknown) => void
}

/** A member of the group. `broken` resolves with the reason when a new member must be created. */
type Member = { readonly consumer: Consumer; readonly broken: PromiseWithResolvers<string>; heartbeatAt: number }

const closeTimeoutMs = 2_000
const retryDelayMs = 500
const checkIntervalMs = 250
/** Error codes of a member that the group no longer knows, or knows as another member. */
const fencedCodes = [25, 82, 110, 113]
/** Error codes of a commit during a rebalance: an old generation of the group, or the above. */
const rebalanceCodes = [22, 27, ...fencedCodes]

const hasCode = (error: unknown, codes: readonly number[]): boolean => {
  const brokerError: unknown = isFailure(error) ? error.cause : error
  return brokerError instanceof Error && codes.some(code => findErrorBy(brokerError, 'apiCode', code) !== null)
}

const reassigned = (of: string, cause?: unknown): Failure =>
  new Failure('lane_lost', `The offset in ${of} was not committed: its partition was reassigned.`, { cause })

/**
 * Join a group. After any error of its membership or of a commit, all assignments are lost and a new member joins.
 * Assignments that the group takes away are lost before the brokers are informed. All are lost after the session
 * timeout by the local clock.
 */
export const joinGroup = (options: GroupOptions): Subscription => {
  const { topic, topicName, group, log } = options
  const stopping = new AbortController()
  let member: Member | null = null

  const commit = offsetCommitter(`${topic} of ${group}`, async offsetCommits => {
    const current = member
    try {
      if (current === null) throw reassigned(`${topic} of ${group}`)
      await withLogTimeout(
        requestTimeoutMs,
        'a commit',
        current.consumer.commit({ offsets: offsetCommits.map(offsetCommit => toKafkaOffset(topicName, offsetCommit)) }),
      )
    } catch (error) {
      current?.broken.resolve(hasCode(error, rebalanceCodes) ? 'the group was rebalanced' : 'a commit was refused')
      if (member === current) assignments.loseAll()
      throw error
    }
  })
  const { assignments, fetcher } = openAssignments(options, commit)
  const updateAssignments = (owner: Member): void => {
    if (member === owner) assignments.assign(assignedPartitions(owner, topicName))
  }

  /** Wait until the member breaks. Returns the reason, null if the member could not join. */
  const waitUntilBroken = async ({ joined, member: { broken } }: OpenedMember): Promise<string | null> => {
    try {
      return await Promise.race([joined.then(() => broken.promise), broken.promise])
    } catch (error) {
      log('Group could not be joined', error)
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
      if (!stopping.signal.aborted && reason !== null) log(`Group is joined again: ${reason}`)
      await current.close()
      await sleep(retryDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    close: async () => {
      stopping.abort()
      assignments.loseAll()
      member?.broken.resolve('the subscription ended')
      await waitUpTo(2 * closeTimeoutMs, running)
      await fetcher.close()
    },
  }
}

/**
 * Create a function that commits offsets by `send`. Commits that arrive during a request share the next request. A
 * commit of a lost partition is left out: the brokers accept an offset from any member, and another reader may have the
 * partition. `of` names the group and topic. The promise rejects with `lane_lost` for a partition that was reassigned,
 * and with `commit_refused` after any other error.
 */
export const offsetCommitter = (
  of: string,
  send: (offsetCommits: readonly OffsetCommit[]) => Promise<void>,
): ((offsetCommit: OffsetCommit) => Promise<void>) => {
  const commitFailure = (cause: unknown): Failure => {
    if (isFailure(cause) && cause.code === 'lane_lost') return cause
    if (hasCode(cause, rebalanceCodes)) return reassigned(of, cause)
    return new Failure('commit_refused', `The offset in ${of} was not committed.`, { cause })
  }
  const commits = groupCommit(async (requested: readonly OffsetCommit[]): Promise<readonly (undefined | Error)[]> => {
    const uncommitted = new Set(requested.filter(offsetCommit => !offsetCommit.lost.aborted))
    try {
      if (uncommitted.size > 0) await send([...uncommitted])
    } catch (cause) {
      throw commitFailure(cause)
    }
    return requested.map(offsetCommit => (uncommitted.has(offsetCommit) ? undefined : reassigned(of)))
  }, 10_000)
  return async offsetCommit => void (await commits.submit(offsetCommit))
}

const toKafkaOffset = (topic: string, { partition, next }: OffsetCommit) => ({
  topic,
  partition,
  offset: BigInt(next),
  leaderEpoch: -1,
})

const assignedPartitions = ({ consumer }: Member, topicName: string): ReadonlySet<number> =>
  new Set(consumer.assignments?.find(({ topic }) => topic === topicName)?.partitions ?? [])

/** Create the assignments of a reader, none at first, and their fetcher. */
const openAssignments = (
  { address, topic, topicName, group, offsetsOf, onAssigned, log }: GroupOptions,
  commit: (offsetCommit: OffsetCommit) => Promise<void>,
) => {
  const assignments = kafkaAssignments({
    offsetsOf,
    log,
    openAssignment: (partition, committed) =>
      openKafkaAssignment({ topic, partition, group, committed, commit, requestMore: () => fetcher.wake() }),
    onOpened: added => {
      for (const { assignment } of added) onAssigned(assignment)
      fetcher.wake()
    },
  })
  const fetcher = openFetcher({
    address,
    topic: topicName,
    assignments: assignments.all,
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
    if (hasCode(error, fencedCodes)) broken.resolve('the member is fenced')
  })

  const streaming = consume(consumer, topicName, () => broken.resolve('the stream ended'))
  const joined = withLogTimeout(address.sessionTimeoutMs, `joining ${group}`, streaming).then(stream => {
    // The stream only keeps the membership. The fetcher requests the messages, so that each partition is fetched as
    // fast as its reader reads.
    stream.pause()
    consumer.on('consumer:heartbeat:start', () => void stream.pause())
  })
  joined.catch(() => undefined)
  return {
    member,
    joined,
    close: async (): Promise<void> => {
      clearInterval(watch)
      // A client that is closed while it joins calls itself until the stack overflows. So wait until the join ends, as
      // every request does.
      const stream = await streaming.catch(() => null)
      stream?.destroy()
      await waitUpTo(closeTimeoutMs, consumer.close(true))
    },
  }
}

type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>

/**
 * Start to consume. The stream gets its error listener in the same event-loop turn: an unhandled error event ends the
 * process.
 */
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
