import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, findErrorBy, type MessagesStream } from '@platformatic/kafka'
import type { Lane, Subscription, TopicName } from '../log.ts'
import { atMost, clientOptions, type KafkaAddress, requestMs, within } from './kafka-client.ts'
import { laneCommits } from './kafka-commits.ts'
import { openFetcher } from './kafka-fetcher.ts'
import { heldLanes } from './kafka-held-lanes.ts'
import { openKafkaLane, type Place } from './kafka-lane.ts'
import type { Offsets } from './kafka-offsets.ts'

export type GroupOptions = {
  readonly address: KafkaAddress
  readonly topic: TopicName
  /** The topic's name at the brokers. */
  readonly topicName: string
  readonly group: string
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly assigned: (lane: Lane) => void
  readonly told: (text: string, error?: unknown) => void
}

/** A member of the group as long as it lasts; `broken` resolves once it must be made anew. */
type Member = { readonly consumer: Consumer; readonly broken: PromiseWithResolvers<string>; beatAt: number }

const closeMs = 2_000
const againMs = 500
const watchMs = 250
/** Codes of a member that the group does not know any more, or knows as another one. */
const fencedCodes = [25, 82, 110, 113]

/**
 * Take part in a group. The member is made anew after any error of its membership or of a commit; all its lanes are lost then. Lanes that
 * the group takes away are lost before the brokers hear that they were given up, and so are all once the session has run out by our clock.
 */
export const joinGroup = (options: GroupOptions): Subscription => {
  const { topic, topicName, group, told } = options
  const stopping = new AbortController()
  let member: Member | null = null

  const commit = laneCommits(`${topic} of ${group}`, async places => {
    const current = member
    try {
      if (current === null) throw new Error('the group has no such member')
      await within(requestMs, 'a commit', current.consumer.commit({ offsets: places.map(place => offsetOf(topicName, place)) }))
    } catch (error) {
      current?.broken.resolve('a commit was refused')
      if (member === current) held.loseAll()
      throw error
    }
  })
  const { held, fetcher } = openLanes(options, commit)
  const follow = (owner: Member): void => {
    if (member === owner) held.hold(ownedBy(owner, topicName))
  }

  /** Be a member until it breaks; gives the reason, null where the group could not be joined. */
  const endOf = async ({ joined, member: { broken } }: OpenedMember): Promise<string | null> => {
    try {
      return await Promise.race([joined.then(() => broken.promise), broken.promise])
    } catch (error) {
      told('the group could not be joined', error)
      return null
    }
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const current = openMember(options, follow)
      member = current.member
      const reason = await endOf(current)
      member = null
      held.loseAll()
      if (!stopping.signal.aborted && reason !== null) told(`the group is joined anew: ${reason}`)
      await current.close()
      await sleep(againMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    close: async () => {
      stopping.abort()
      held.loseAll()
      member?.broken.resolve('it ends')
      await atMost(2 * closeMs, running)
      await fetcher.close()
    },
  }
}

const offsetOf = (topic: string, { partition, next }: Place) => ({ topic, partition, offset: BigInt(next), leaderEpoch: -1 })

const ownedBy = ({ consumer }: Member, topicName: string): ReadonlySet<number> =>
  new Set(consumer.assignments?.find(({ topic }) => topic === topicName)?.partitions ?? [])

/** The lanes of a reader, none yet, and what fetches for them. */
const openLanes = (
  { address, topic, topicName, group, offsetsOf, assigned, told }: GroupOptions,
  commit: (place: Place) => Promise<void>,
) => {
  const held = heldLanes({
    ...{ offsetsOf, told },
    openLane: (partition, committed) => openKafkaLane({ topic, partition, group, committed, commit, wantsMore: () => fetcher.wake() }),
    opened: lanes => {
      for (const { lane } of lanes) assigned(lane)
      fetcher.wake()
    },
  })
  const fetcher = openFetcher({
    ...{ address, topic: topicName, lanes: held.all },
    beginOf: async partition => (await offsetsOf())[partition]?.begin ?? 0,
  })
  return { held, fetcher }
}

type OpenedMember = ReturnType<typeof openMember>

const openMember = ({ address, topicName, group }: GroupOptions, follow: (member: Member) => void) => {
  const consumer = new Consumer({ ...clientOptions(address, 'reader'), groupId: group, groupProtocol: 'consumer', autocommit: false })
  const broken = Promise.withResolvers<string>()
  const member: Member = { consumer, broken, beatAt: performance.now() }
  const watch = setInterval(() => {
    if (performance.now() - member.beatAt > address.sessionMs) broken.resolve('the session ran out')
    else follow(member)
  }, watchMs)
  consumer.on('error', () => broken.resolve('the client failed'))
  consumer.on('consumer:heartbeat:start', () => follow(member))
  consumer.on('consumer:heartbeat:end', () => {
    member.beatAt = performance.now()
    follow(member)
  })
  consumer.on('consumer:heartbeat:error', ({ error }) => {
    if (fencedCodes.some(code => findErrorBy(error, 'apiCode', code) !== null)) broken.resolve('the member is fenced')
  })

  const consumed = consume(consumer, topicName, () => broken.resolve('the stream ended'))
  const joined = within(address.sessionMs, `joining ${group}`, consumed).then(stream => {
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
      const stream = await consumed.catch(() => null)
      stream?.destroy()
      await atMost(closeMs, consumer.close(true))
    },
  }
}

type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>

/** Begin to consume. The stream has its listener in the same turn: an error that nobody listens to ends the process. */
const consume = (consumer: Consumer, topic: string, failed: () => void): Promise<Stream> => {
  const { promise, resolve, reject } = Promise.withResolvers<Stream>()
  const modes = { mode: 'committed', fallbackMode: 'earliest' } as const
  consumer.consume({ topics: [topic], ...modes, autocommit: false, maxBytes: 1 }, (error, stream) => {
    stream?.on('error', failed)
    if (stream === undefined) reject(error)
    else resolve(stream)
  })
  return promise
}
