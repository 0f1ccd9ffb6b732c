import { setTimeout as sleep } from 'node:timers/promises'
import type { MeterBatchWire } from '../../contract/metering/meter-batch.ts'
import type { ServiceCalls } from '../../platform/call-service.ts'
import { semaphore } from '../../platform/concurrency/semaphore.ts'

/** Time for which receipts are awaited after the last row, and time between two rounds, in ms. */
const [pricedMs, pollMs] = [60_000, 200]
const concurrentReads = 4
/** Receipts that are read at the end: 50 million rows. */
const maxReceipts = 10_000

/** Receipts of an import. `replaced` is null if the key cannot read receipts. */
export type ReadReceipts = {
  /** Batches that are not priced yet. */
  readonly pending: number
  /** Stored records that the import replaced with another value. */
  readonly replaced: number | null
}

type Receipt = Pick<MeterBatchWire, 'status' | 'records_replaced'>

/** Reads the receipts of the submissions of an import, in their order. The oldest are forgotten above 10,000. */
export const receiptReader = (client: ServiceCalls, onWait: (reason: string) => void, signal: AbortSignal) => {
  const limited = semaphore(concurrentReads)
  let batchIds: string[] = []
  let forgotten = 0
  let replaced = 0
  let isForbidden = false
  /** Read a receipt, unless the time is over. Returns whether it is complete, or cannot be read. */
  const read = async (id: string, deadline: number): Promise<boolean> => {
    const get = async () => (performance.now() > deadline ? null : client.call<Receipt>('GET', `/meters/batch/${id}`))
    // The service waits some seconds for a receipt that it does not have yet.
    const answer = await limited(get)
    if (answer === null) return false
    const { status, body } = answer
    isForbidden ||= status === 403
    if (status !== 200 || body?.status !== 'COMPLETE') return isForbidden
    replaced += body.records_replaced
    return true
  }
  return {
    /** Add batches whose receipts are not read, and the replaced records of those that are. */
    add: (ids: readonly string[], replacedBefore: number): void => {
      replaced += replacedBefore
      batchIds.push(...ids)
      const excess = Math.max(0, batchIds.length - maxReceipts)
      forgotten += excess
      batchIds = batchIds.slice(excess)
    },
    /** Number of batches whose receipts are not read. */
    forgotten: (): number => forgotten,
    /** Wait until the batches are priced, at most 60 s. */
    end: async (): Promise<ReadReceipts> => {
      for (const deadline = performance.now() + pricedMs; ; await sleep(pollMs, undefined, { signal })) {
        const complete = await Promise.all(batchIds.map(id => read(id, deadline)))
        batchIds = batchIds.filter((_, index) => complete[index] !== true)
        if (isForbidden) return { pending: 0, replaced: null }
        if (batchIds.length === 0 || performance.now() > deadline) return { pending: batchIds.length, replaced }
        onWait('until the records are priced')
      }
    },
  }
}
