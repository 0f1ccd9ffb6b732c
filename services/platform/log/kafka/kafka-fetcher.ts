import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, ResponseError } from '@platformatic/kafka'
import type { KafkaAssignment } from './kafka-assignment.ts'
import { clientOptions, type KafkaAddress, lingerMs, waitUpTo } from './kafka-client.ts'
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
  readonly assignments: () => Iterable<KafkaAssignment>
  /** Where a partition begins now. */
  readonly beginOf: (partition: number) => Promise<number>
}

type Response = Awaited<ReturnType<Consumer['fetch']>>
type FetchRequest = { readonly assignment: KafkaAssignment; readonly from: number }

const maxWaitMs = 200
const retryDelayMs = 200
const maxFetchBytes = 4 * 1_048_576
const partitionBytes = 524_288
const offsetOutOfRange = 1

/**
 * Start fetching: one request under way per broker, for the lanes that it leads, so far apart that something gathers. A failed one is made
 * again, at the leaders of then.
 */
export const openFetcher = ({ address, topic, assignments, beginOf }: FetcherOptions): Fetcher => {
  const client = new Consumer({ ...clientOptions(address, 'fetch'), groupId: 'wattledger-fetch', isolationLevel: 0 })
  const busy = new Set<number>()
  let isClosed = false
  let isRunning = false
  let isWakePending = false
  let isStale = false

  const deliver = async (requests: readonly FetchRequest[], { responses }: Response): Promise<void> => {
    for (const { partitionIndex, errorCode, records } of responses.flatMap(({ partitions }) => partitions)) {
      const request = requests.find(({ assignment }) => assignment.partition === partitionIndex)
      if (request === undefined) continue
      if (errorCode === offsetOutOfRange) request.assignment.moveTo(await beginOf(partitionIndex), request.from)
      else if (errorCode === 0 && records) request.assignment.deliver(readRecords(records, request.from), request.from)
    }
  }

  const fetchFrom = async (node: number, topicId: string, requests: readonly FetchRequest[]): Promise<void> => {
    const partitions = requests.map(({ assignment, from }) => ({
      ...{ partition: assignment.partition, fetchOffset: BigInt(from), partitionMaxBytes: partitionBytes },
      ...{ currentLeaderEpoch: -1, lastFetchedEpoch: -1 },
    }))
    const linger = sleep(lingerMs)
    try {
      const bounds = { maxWaitTime: maxWaitMs, minBytes: 1, maxBytes: maxFetchBytes }
      await deliver(requests, await client.fetch({ node, topics: [{ topicId, partitions }], ...bounds }))
    } catch (error) {
      isStale = true
      // What the other partitions of the answer brought is good.
      const answer = error instanceof ResponseError ? (error['response'] as Response | undefined) : undefined
      if (answer !== undefined) await deliver(requests, answer).catch(() => undefined)
      await sleep(retryDelayMs)
    }
    await linger
    busy.delete(node)
    wake()
  }

  const startFetches = async (): Promise<void> => {
    const metadata = await client.metadata({ topics: [topic], forceUpdate: isStale })
    isStale = false
    const found = metadata.topics.get(topic)
    if (found === undefined) return
    const byLeader = new Map<number, FetchRequest[]>()
    for (const assignment of assignments()) {
      const leader = found.partitions[assignment.partition]?.leader ?? -1
      const from = assignment.nextFetchOffset()
      if (from === null || busy.has(leader)) continue
      const ofLeader = byLeader.get(leader) ?? []
      byLeader.set(leader, ofLeader)
      ofLeader.push({ assignment, from })
    }
    for (const [leader, requests] of byLeader) {
      busy.add(leader)
      void fetchFrom(leader, found.id, requests)
    }
  }

  const startFetchesUntilIdle = async (): Promise<void> => {
    while (isWakePending && !isClosed) {
      isWakePending = false
      try {
        await startFetches()
      } catch {
        isStale = true
        isWakePending = true
        await sleep(retryDelayMs)
      }
    }
    isRunning = false
  }

  const wake = (): void => {
    isWakePending = true
    if (isRunning || isClosed) return
    isRunning = true
    void startFetchesUntilIdle()
  }
  return {
    wake,
    close: async () => {
      isClosed = true
      await waitUpTo(1_000, client.close(true))
    },
  }
}
