import { eventRetrieve, eventToWire } from '../contract/events/event.ts'
import { answerInApiVersion } from '../contract/exchange.ts'
import { nextSlice } from '../platform/concurrency/time-slices.ts'
import type { DeliveryClaim } from '../platform/postgres/webhooks/webhook-queue.ts'
import type { WorkResult, WorkTable } from '../platform/work-thread/work-messages.ts'
import type { WorkThread, WorkThreadOptions } from '../platform/work-thread/work-thread.ts'

/** Event of a delivery. `data` is JSON text in current names; `createdAt` in ms. */
export type DeliveredEvent = Pick<DeliveryClaim, 'eventId' | 'accountId' | 'liveMode' | 'eventType' | 'apiVersion'> & {
  readonly data: string
  readonly createdAt: number
}

/** Data up to this length, in characters, is parsed and written in a few ms. */
const maxInlineDataLength = 65_536
const emptyData = '"data":{}'

const writtenEvent = ({ eventId, eventType, apiVersion, ...event }: DeliveredEvent): Buffer<ArrayBuffer> => {
  const written = eventToWire({ ...event, id: eventId, type: eventType }, apiVersion)
  return Buffer.from(JSON.stringify(answerInApiVersion(eventRetrieve, written, apiVersion)))
}

/**
 * Write the body of an event in the API version of the endpoint. Long data in the current version is copied as the
 * stored text: to parse and write 20 MB takes 400 ms.
 * Law: each attempt of a delivery has the same bytes.
 */
export const eventBody = (event: DeliveredEvent): Buffer<ArrayBuffer> => {
  const { apiVersion, data } = event
  if (data.length <= maxInlineDataLength || apiVersion !== 'current') return writtenEvent(event)
  const empty = writtenEvent({ ...event, data: '{}' }).toString()
  const index = empty.indexOf(emptyData)
  return Buffer.from(`${empty.slice(0, index)}"data":${data}${empty.slice(index + emptyData.length)}`)
}

/** Work of the thread that writes long events. */
export const eventWork = {
  eventBody: (event: DeliveredEvent): WorkResult => ({ head: null, chunks: [Uint8Array.from(eventBody(event))] }),
} as const satisfies WorkTable

/** Options of the thread that writes long events in the earlier API version. The dispatcher limits their bytes. */
export const eventThreadOptions: WorkThreadOptions = {
  script: new URL('./event-process.ts', import.meta.url),
  maxThreads: 1,
  maxIdleMs: 30_000,
  limits: { maxConcurrent: 1_024, maxConcurrentPerAccount: 1_024, maxWaitingPerAccount: 1_024 },
  maxWaitingBytes: 128 * 2 ** 20,
  memoryMiB: 512,
}

/**
 * Write the body of an event as `eventBody` does. A long event waits for its turn. In the earlier API version a thread
 * writes a long event. Throws if the thread ends.
 */
export const writeEventBody = async (
  event: DeliveredEvent,
  thread: Pick<WorkThread, 'begin'>,
): Promise<Buffer<ArrayBuffer>> => {
  const { accountId, apiVersion, data } = event
  if (data.length <= maxInlineDataLength) return eventBody(event)
  if (apiVersion === 'current') {
    await nextSlice(accountId)
    return eventBody(event)
  }
  const { signal } = new AbortController()
  const started = await thread.begin({
    account: accountId,
    name: 'eventBody',
    input: event,
    bytes: data.length,
    signal,
  })
  if (!started.ok) throw new Error(`The event cannot be written: ${started.refusal.message}`)
  const parts: Uint8Array[] = []
  for await (const bytes of started.value.chunks) parts.push(bytes)
  return Buffer.concat(parts)
}
