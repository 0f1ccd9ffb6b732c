import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, ResponseError } from '@platformatic/kafka'
import type { KafkaAssignment } from './kafka-assignment.ts'
import { clientOptions, lingerMs, waitUpTo } from './kafka-client.ts'
import { readRecords } from './kafka-records.ts'
import type { KafkaAddress } from './kafka-settings.ts'

/** Fetches messages ahead for the assignments of a reader while their buffers have space. */
export type Fetcher = {
  /** Check again whether an assignment needs messages. */
  readonly wake: () => void
  readonly close: () => Promise<void>
}

export type FetcherOptions = {
  readonly address: KafkaAddress
  readonly topic: string
  readonly assignments: () => Iterable<KafkaAssignment>
  /** Return the oldest offset of a partition. */
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
 * Start to fetch: at most one request in flight per broker, for the partitions that this broker leads, at least
 * `lingerMs` apart. A failed request is sent again to the then current leaders.
 */
export const openFetcher = (options: FetcherOptions): Fetcher => {
  const { address, topic, assignments } = options
  const client = new Consumer({ ...clientOptions(address, 'fetch'), groupId: 'wattledger-fetch', isolationLevel: 0 })
  const busyNodes = new Set<number>()
  let isStale = false

  const fetchFrom = async (node: number, topicId: string, requests: readonly FetchRequest[]): Promise<void> => {
    const linger = sleep(lingerMs)
    try {
      await deliver(await client.fetch(fetchOptions(node, topicId, requests)), requests, options)
    } catch (error) {
      isStale = true
      // The response has valid messages of the partitions without an error.
      const response = error instanceof ResponseError ? (error['response'] as Response | undefined) : undefined
      if (response !== undefined) await deliver(response, requests, options).catch(() => undefined)
      await sleep(retryDelayMs)
    }
    await linger
    busyNodes.delete(node)
    loop.wake()
  }

  const startFetches = async (): Promise<void> => {
    const metadata = await client.metadata({ topics: [topic], forceUpdate: isStale })
    isStale = false
    const found = metadata.topics.get(topic)
    if (found === undefined) return
    const leaderOf = (partition: number): number => found.partitions[partition]?.leader ?? -1
    for (const [node, requests] of requestsByLeader(assignments(), leaderOf)) {
      if (busyNodes.has(node)) continue
      busyNodes.add(node)
      void fetchFrom(node, found.id, requests)
    }
  }

  const loop = startWakeLoop(startFetches, () => {
    isStale = true
  })
  return {
    wake: loop.wake,
    close: async () => {
      loop.stop()
      await waitUpTo(1_000, client.close(true))
    },
  }
}

const fetchOptions = (node: number, topicId: string, requests: readonly FetchRequest[]) => {
  const partitions = requests.map(({ assignment, from }) => ({
    partition: assignment.partition,
    fetchOffset: BigInt(from),
    partitionMaxBytes: partitionBytes,
    currentLeaderEpoch: -1,
    lastFetchedEpoch: -1,
  }))
  return { node, topics: [{ topicId, partitions }], maxWaitTime: maxWaitMs, minBytes: 1, maxBytes: maxFetchBytes }
}

const requestsByLeader = (
  assignments: Iterable<KafkaAssignment>,
  leaderOf: (partition: number) => number,
): ReadonlyMap<number, readonly FetchRequest[]> => {
  const byLeader = new Map<number, FetchRequest[]>()
  for (const assignment of assignments) {
    const from = assignment.nextFetchOffset()
    if (from === null) continue
    const leader = leaderOf(assignment.partition)
    const requests = byLeader.get(leader) ?? []
    byLeader.set(leader, requests)
    requests.push({ assignment, from })
  }
  return byLeader
}

const deliver = async (
  { responses }: Response,
  requests: readonly FetchRequest[],
  { beginOf }: Pick<FetcherOptions, 'beginOf'>,
): Promise<void> => {
  for (const { partitionIndex, errorCode, records } of responses.flatMap(({ partitions }) => partitions)) {
    const request = requests.find(({ assignment }) => assignment.partition === partitionIndex)
    if (request === undefined) continue
    if (errorCode === offsetOutOfRange) request.assignment.moveTo(await beginOf(partitionIndex), request.from)
    else if (errorCode === 0 && records) request.assignment.deliver(readRecords(records, request.from), request.from)
  }
}

/** Run `work` after each `wake`, one run at a time. A failed run is repeated after a pause. */
const startWakeLoop = (work: () => Promise<void>, onFailed: () => void) => {
  let isStopped = false
  let isRunning = false
  let isWakePending = false
  const run = async (): Promise<void> => {
    while (isWakePending && !isStopped) {
      isWakePending = false
      try {
        await work()
      } catch {
        onFailed()
        isWakePending = true
        await sleep(retryDelayMs)
      }
    }
    isRunning = false
  }
  return {
    wake: (): void => {
      isWakePending = true
      if (isRunning || isStopped) return
      isRunning = true
      void run()
    },
    stop: (): void => {
      isStopped = true
    },
  }
}
