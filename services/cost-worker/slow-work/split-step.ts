import type { ChunkHeaders } from '../../platform/log/chunk-headers.ts'
import type { ReadingToStore } from '../cost-readings.ts'
import type { MessageOrigin, RecordToCost } from '../record-to-cost.ts'
import type { ReceivedRequest } from '../recost/merge-requests.ts'
import type { Step } from '../step.ts'

/** Records, readings and requests of one location in a step, to be costed in parallel with later steps. */
export type SlowTask = {
  readonly accountId: string
  readonly locationId: string
  readonly partition: number
  readonly records: readonly RecordToCost[]
  readonly readings: readonly ReadingToStore[]
  readonly requests: readonly ReceivedRequest[]
}

/** Step without its slow work. `slowChunks`: by account, the chunks whose receipts wait for the slow tasks. */
export type SplitStep = {
  readonly fast: Step
  readonly slowTasks: readonly SlowTask[]
  readonly slowChunks: ReadonlyMap<string, readonly ChunkHeaders[]>
}

const slowLocations = (
  step: Step,
  isBusy: (locationId: string) => boolean,
  heavy: ReadonlySet<string>,
): ReadonlySet<string> => {
  const slow = new Set(heavy)
  for (const locationId of step.records.keys()) if (isBusy(locationId)) slow.add(locationId)
  for (const { row } of step.readings) if (isBusy(row.locationId)) slow.add(row.locationId)
  for (const { request } of step.requests) for (const id of request.locationIds) if (isBusy(id)) slow.add(id)
  return slow
}

/** Create tasks of requests that have one location each and take long. */
export const slowTasksOfRequests = (requests: readonly ReceivedRequest[]): readonly SlowTask[] =>
  [...Map.groupBy(requests, ({ request }) => request.locationIds[0] ?? '')].map(([locationId, own]) =>
    slowTask(locationId, [], [], own),
  )

const receiptKey = (chunkId: string | undefined, batchId: string | null): string => `${chunkId}/${batchId}`

/** Split the batches of each chunk: those with slow records, by account, and the others. */
const splitChunks = (chunks: readonly ChunkHeaders[], slowTasks: readonly SlowTask[]) => {
  const accounts = new Map<string, string>()
  const noteAccount = (accountId: string, origin: MessageOrigin | null, batchId: string | null): void => {
    accounts.set(receiptKey(origin?.message.headers['chunk'], batchId), accountId)
  }
  for (const { accountId, records, readings } of slowTasks) {
    for (const { origin, part } of records) noteAccount(accountId, origin, part.batchId)
    for (const { origin, row } of readings) noteAccount(accountId, origin, row.batchId)
  }
  const slow = new Map<string, ChunkHeaders[]>()
  const fast = chunks.map(chunk => {
    for (const [accountId, batches] of Map.groupBy(chunk.batches, ({ batchId }) =>
      accounts.get(receiptKey(chunk.chunkId, batchId)),
    )) {
      if (accountId === undefined) continue
      const own = slow.get(accountId)
      if (own === undefined) slow.set(accountId, [{ ...chunk, batches }])
      else own.push({ ...chunk, batches })
    }
    return {
      ...chunk,
      batches: chunk.batches.filter(({ batchId }) => !accounts.has(receiptKey(chunk.chunkId, batchId))),
    }
  })
  return { fast, slow }
}

const withLocations = (received: ReceivedRequest, locationIds: readonly string[]): ReceivedRequest => ({
  ...received,
  request: { ...received.request, locationIds },
})

const slowTasksOf = (step: Step, slow: ReadonlySet<string>): readonly SlowTask[] => {
  const readingsByLocation = Map.groupBy(step.readings, ({ row }) => row.locationId)
  const requestsByLocation = new Map<string, ReceivedRequest[]>()
  for (const received of step.requests) {
    for (const id of new Set(received.request.locationIds)) {
      if (!slow.has(id)) continue
      const own = requestsByLocation.get(id)
      if (own === undefined) requestsByLocation.set(id, [withLocations(received, [id])])
      else own.push(withLocations(received, [id]))
    }
  }
  return [...slow].map(id =>
    slowTask(id, step.records.get(id) ?? [], readingsByLocation.get(id) ?? [], requestsByLocation.get(id) ?? []),
  )
}

const slowTask = (
  locationId: string,
  records: readonly RecordToCost[],
  readings: readonly ReadingToStore[],
  requests: readonly ReceivedRequest[],
): SlowTask => {
  const origin = records[0]?.origin ?? readings[0]?.origin ?? requests[0]?.origin
  const accountId = records[0]?.part.accountId ?? readings[0]?.row.accountId ?? requests[0]?.request.accountId ?? ''
  return { accountId, locationId, partition: origin?.assignment.partition ?? 0, records, readings, requests }
}

/**
 * Split a step into work for now and slow tasks. Slow are the locations in `heavy`, and those with unfinished tasks of
 * earlier steps.
 * All records, readings and requests of a slow location go into its task, so their order stays.
 */
export const splitStep = (
  step: Step,
  isBusy: (locationId: string) => boolean,
  heavy: ReadonlySet<string>,
): SplitStep => {
  const slow = slowLocations(step, isBusy, heavy)
  if (slow.size === 0) return { fast: step, slowTasks: [], slowChunks: new Map() }
  const slowTasks = slowTasksOf(step, slow)
  const chunks = splitChunks(step.chunks, slowTasks)
  const requests = step.requests.flatMap(received => {
    const { locationIds } = received.request
    const otherIds = locationIds.filter(id => !slow.has(id))
    return otherIds.length === 0 && locationIds.length > 0 ? [] : [withLocations(received, otherIds)]
  })
  const fast: Step = {
    ...step,
    records: new Map([...step.records].filter(([locationId]) => !slow.has(locationId))),
    readings: step.readings.filter(({ row }) => !slow.has(row.locationId)),
    chunks: chunks.fast,
    requests,
  }
  return { fast, slowTasks, slowChunks: chunks.slow }
}
