import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, findErrorBy } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { groupCommit } from '../group-commit.ts'
import type { Lane, Subscription, TopicName } from '../log.ts'
import { atMost, clientOptions, type KafkaAddress, requestMs, within } from './kafka-client.ts'
import { openFetcher } from './kafka-fetcher.ts'
import { type KafkaLane, openKafkaLane } from './kafka-lane.ts'
import type { Offsets } from './kafka-offsets.ts'

export type GroupOptions = {
  readonly address: KafkaAddress
  readonly topic: TopicName
  /** The topic's name at the brokers. */
  readonly topicName: string
  readonly group: string
  /** After so long without a heartbeat the brokers give the lanes away. */
  readonly sessionMs: number
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly assigned: (lane: Lane) => void
  readonly told: (text: string, error?: unknown) => void
}

type Commit = { readonly partition: number; readonly next: number }

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
  const { address, topic, topicName, group, offsetsOf, told } = options
  const stopping = new AbortController()
  const lanes = new Map<number, KafkaLane>()
  /** Partitions whose lanes are being opened, and by which attempt. */
  const opening = new Map<number, symbol>()
  let member: Member | null = null
  const fetcher = openFetcher({
    ...{ address, topic: topicName, lanes: () => lanes.values() },
    beginOf: async partition => (await offsetsOf())[partition]?.begin ?? 0,
  })

  const loseAll = (): void => {
    for (const lane of lanes.values()) lane.lose()
    lanes.clear()
    opening.clear()
  }

  const commits = groupCommit(async (asked: readonly Commit[]) => {
    const current = member
    const offsets = asked.map(({ partition, next }) => ({ topic: topicName, partition, offset: BigInt(next), leaderEpoch: -1 }))
    try {
      if (current === null) throw new Error('the group has no such member')
      await within(requestMs, 'a commit', current.consumer.commit({ offsets }))
      return asked.map(() => undefined)
    } catch (cause) {
      current?.broken.resolve('a commit was refused')
      loseAll()
      throw new Failure('lane_lost', `${group} could not commit its place in ${topic}`, { retriable: false, cause })
    }
  }, 10_000)

  /** Open lanes at what is committed now; those that were taken away meanwhile, even if given again, are not opened from it. */
  const open = async (partitions: readonly number[], attempt: symbol): Promise<void> => {
    try {
      const offsets = await offsetsOf()
      for (const partition of partitions.filter(one => opening.get(one) === attempt)) {
        const lane = openKafkaLane({
          ...{ topic, partition, group, committed: offsets[partition]?.committed ?? 0 },
          commit: async (of, next) => void (await commits.submit({ partition: of, next })),
          wantsMore: fetcher.wake,
        })
        lanes.set(partition, lane)
        options.assigned(lane.lane)
      }
      fetcher.wake()
    } catch (error) {
      told('lanes could not be opened', error)
    }
    for (const partition of partitions) if (opening.get(partition) === attempt) opening.delete(partition)
  }

  const ownedBy = ({ consumer }: Member): ReadonlySet<number> =>
    new Set(consumer.assignments?.find(one => one.topic === topicName)?.partitions ?? [])

  const follow = (owner: Member): void => {
    if (member !== owner) return
    const owned = ownedBy(owner)
    for (const partition of [...lanes.keys(), ...opening.keys()].filter(one => !owned.has(one))) {
      lanes.get(partition)?.lose()
      lanes.delete(partition)
      opening.delete(partition)
    }
    const missing = [...owned].filter(partition => !lanes.has(partition) && !opening.has(partition))
    if (missing.length === 0) return
    const attempt = Symbol()
    for (const partition of missing) opening.set(partition, attempt)
    void open(missing, attempt)
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const current = openMember(options, follow)
      member = current.member
      const reason = await Promise.race([current.joined.then(() => current.member.broken.promise), current.member.broken.promise]).catch(
        error => {
          told('the group could not be joined', error)
          return null
        },
      )
      member = null
      loseAll()
      if (!stopping.signal.aborted && reason !== null) told(`the group is joined anew: ${reason}`)
      await current.close()
      await sleep(againMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    close: async () => {
      stopping.abort()
      loseAll()
      member?.broken.resolve('it ends')
      await running
      await fetcher.close()
    },
  }
}

const openMember = ({ address, topicName, group, sessionMs }: GroupOptions, follow: (member: Member) => void) => {
  const consumer = new Consumer({ ...clientOptions(address, 'reader'), groupId: group, groupProtocol: 'consumer', autocommit: false })
  const broken = Promise.withResolvers<string>()
  const member: Member = { consumer, broken, beatAt: performance.now() }
  const watch = setInterval(() => {
    if (performance.now() - member.beatAt > sessionMs) broken.resolve('the session ran out')
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

  const join = async (): Promise<() => void> => {
    const modes = { mode: 'committed', fallbackMode: 'earliest' } as const
    const consumed = consumer.consume({ topics: [topicName], ...modes, autocommit: false, maxBytes: 1 })
    const stream = await within(sessionMs, `joining ${group}`, consumed)
    // The stream is the membership alone: what the lanes want is fetched beside it, so that each is as full as its reader lets it be.
    stream.pause()
    consumer.on('consumer:heartbeat:start', () => void stream.pause())
    stream.on('error', () => broken.resolve('the stream ended'))
    return () => void stream.destroy()
  }
  const joined = join()
  joined.catch(() => undefined)
  return {
    member,
    joined,
    close: async (): Promise<void> => {
      clearInterval(watch)
      const leave = await atMost(0, joined)
      leave?.()
      await atMost(closeMs, consumer.close(true))
    },
  }
}
