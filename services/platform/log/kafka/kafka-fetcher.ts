import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, ResponseError } from '@platformatic/kafka'
import { atMost, clientOptions, gatherMs, type KafkaAddress } from './kafka-client.ts'
import type { KafkaLane } from './kafka-lane.ts'
import { readRecords } from './kafka-records.ts'

/** Fetches ahead for the lanes of a reader, as long as they want more. */
export type Fetcher = {
  /** Look again whether a lane wants more. */
  readonly wake: () => void
  readonly close: () => Promise<void>
}

export type FetcherOptions = {
  readonly address: KafkaAddress
  readonly topic: string
  readonly lanes: () => Iterable<KafkaLane>
  /** Where a partition begins now. */
  readonly beginOf: (partition: number) => Promise<number>
}

type Response = Awaited<ReturnType<Consumer['fetch']>>
type Wanted = { readonly lane: KafkaLane; readonly from: number }

const waitMs = 200
const againMs = 200
const fetchBytes = 4 * 1_048_576
const partitionBytes = 524_288
const offsetOutOfRange = 1

/**
 * Start fetching: one request under way per broker, for the lanes that it leads, so far apart that something gathers. A failed one is made
 * again, at the leaders of then.
 */
export const openFetcher = ({ address, topic, lanes, beginOf }: FetcherOptions): Fetcher => {
  const client = new Consumer({ ...clientOptions(address, 'fetch'), groupId: 'wattledger-fetch', isolationLevel: 0 })
  const busy = new Set<number>()
  let isClosed = false
  let isLooking = false
  let mustLook = false
  let isStale = false

  const deliver = async (wanted: readonly Wanted[], { responses }: Response): Promise<void> => {
    for (const { partitionIndex, errorCode, records } of responses.flatMap(({ partitions }) => partitions)) {
      const of = wanted.find(({ lane }) => lane.partition === partitionIndex)
      if (of === undefined) continue
      if (errorCode === offsetOutOfRange) of.lane.moveTo(await beginOf(partitionIndex), of.from)
      else if (errorCode === 0 && records) of.lane.give(readRecords(records, of.from), of.from)
    }
  }

  const fetchFrom = async (node: number, topicId: string, wanted: readonly Wanted[]): Promise<void> => {
    const partitions = wanted.map(({ lane, from }) => ({
      ...{ partition: lane.partition, fetchOffset: BigInt(from), partitionMaxBytes: partitionBytes },
      ...{ currentLeaderEpoch: -1, lastFetchedEpoch: -1 },
    }))
    const gathered = sleep(gatherMs)
    try {
      const bounds = { maxWaitTime: waitMs, minBytes: 1, maxBytes: fetchBytes }
      await deliver(wanted, await client.fetch({ node, topics: [{ topicId, partitions }], ...bounds }))
    } catch (error) {
      isStale = true
      // What the other partitions of the answer brought is good.
      const answer = error instanceof ResponseError ? (error['response'] as Response | undefined) : undefined
      if (answer !== undefined) await deliver(wanted, answer).catch(() => undefined)
      await sleep(againMs)
    }
    await gathered
    busy.delete(node)
    wake()
  }

  const look = async (): Promise<void> => {
    const metadata = await client.metadata({ topics: [topic], forceUpdate: isStale })
    isStale = false
    const found = metadata.topics.get(topic)
    if (found === undefined) return
    const byLeader = new Map<number, Wanted[]>()
    for (const lane of lanes()) {
      const leader = found.partitions[lane.partition]?.leader ?? -1
      const from = lane.wanted()
      if (from === null || busy.has(leader)) continue
      const ofLeader = byLeader.get(leader) ?? []
      byLeader.set(leader, ofLeader)
      ofLeader.push({ lane, from })
    }
    for (const [leader, wanted] of byLeader) {
      busy.add(leader)
      void fetchFrom(leader, found.id, wanted)
    }
  }

  const lookOn = async (): Promise<void> => {
    while (mustLook && !isClosed) {
      mustLook = false
      try {
        await look()
      } catch {
        isStale = true
        mustLook = true
        await sleep(againMs)
      }
    }
    isLooking = false
  }

  const wake = (): void => {
    mustLook = true
    if (isLooking || isClosed) return
    isLooking = true
    void lookOn()
  }
  return {
    wake,
    close: async () => {
      isClosed = true
      await atMost(1_000, client.close(true))
    },
  }
}
