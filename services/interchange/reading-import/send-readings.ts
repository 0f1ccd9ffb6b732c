import type { ServiceCalls } from '../../platform/call-service.ts'
import { type FileIdentities, fileIdentities } from '../domain/file-identities.ts'
import { isRefusedRow, type ReadRow } from '../domain/reading.ts'
import { type ProcessedBatch, registerWaiter } from './await-registers.ts'
import { refuseRepeat } from './check-readings.ts'
import { areBatchesRelated, type BatchBuilder, type ReadingBatch, startBatch } from './reading-batch.ts'
import type { ReadingSource } from './reading-source.ts'
import type { BatchSender, SentBatch } from './send-batch.ts'

/** Memory for identities of readings that are out of step, in bytes. */
const identityBytes = 512 * 1_048_576
/** Submissions that are sent at the same time. */
const concurrency = 3
/** Readings that are sent, and wait until the service has processed those of registers. */
const maxWaitingReadings = 40_000

/** Remember the identities of the readings of a file. */
export const importIdentities = (): FileIdentities => fileIdentities(identityBytes)

type SendingOptions = {
  readonly source: ReadingSource
  readonly identities: FileIdentities
  readonly sender: BatchSender
  readonly client: ServiceCalls
  /** Store the result of a batch, and the last line of which it has rows. Batches are committed in file order. */
  readonly commit: (lastLine: number, result: ProcessedBatch) => void | Promise<void>
  /** Last line that an earlier run sent. The readings begin after it. */
  readonly from: number
  readonly signal: AbortSignal
}

/**
 * Wait for the first of some promises. Throws the reason of an aborted signal.
 * A promise that stays pending retains the results of all its races, so each wait has its own.
 */
const firstOf = async (promises: Iterable<Promise<unknown>>, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted()
  const { promise: interrupted, reject } = Promise.withResolvers<never>()
  const interrupt = () => reject(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    await Promise.race([interrupted, ...promises])
  } finally {
    signal.removeEventListener('abort', interrupt)
  }
}

/**
 * Sends batches, a few at a time, and commits them in order. A batch with readings of registers is committed after the
 * service has processed them, so that readings which fail then are refused rows of the file.
 */
const batchQueue = ({ sender, client, commit, signal }: SendingOptions) => {
  const sending = new Map<ReadingBatch, Promise<unknown>>()
  const waiting = new Set<Promise<unknown>>()
  const awaitRegisters = registerWaiter(client, signal)
  let waitingReadings = 0
  let committed: Promise<void> = Promise.resolve()
  /** Commit a batch after the batch before it. This function does not retain the readings: they need much memory. */
  const commitAfter = async (before: Promise<void>, sent: Promise<SentBatch>, lastLine: number): Promise<void> => {
    await before
    await commit(lastLine, await awaitRegisters(await sent))
  }
  /** Count readings as waiting until they are committed. */
  const waitFor = (done: Promise<void>, count: number): Promise<void> => {
    waitingReadings += count
    const finished = done.finally(() => {
      waitingReadings -= count
      waiting.delete(finished)
    })
    waiting.add(finished)
    return finished
  }
  const hasCapacity = (batch: ReadingBatch): boolean =>
    sending.size < concurrency && ![...sending.keys()].some(other => areBatchesRelated(other, batch))
  return {
    /** Send a batch. Resolves when the batch is on its way; throws if an earlier batch failed. */
    add: async (batch: ReadingBatch): Promise<void> => {
      while (!hasCapacity(batch)) await firstOf(sending.values(), signal)
      while (waitingReadings >= maxWaitingReadings) await firstOf(waiting, signal)
      const sent = sender.send(batch)
      const [before, done] = [committed, sent.finally(() => sending.delete(batch))]
      sending.set(batch, done)
      // The service processes the readings in order. Only the oldest batch waits, so that few receipts are requested again.
      committed = commitAfter(before, sent, batch.lastLine)
      const finished = waitFor(committed, batch.count)
      // The error is thrown by the next `add` or by `end`.
      for (const promise of [done, committed, finished]) promise.catch(() => undefined)
    },
    end: (): Promise<void> => firstOf([committed], signal),
  }
}

/** Return a row, refused if an earlier line of the file has its identity, however far away. */
const checkRepeat = (row: ReadRow, identities: FileIdentities): ReadRow => {
  const firstLine = isRefusedRow(row) ? null : identities.note(row)
  return firstLine === null || isRefusedRow(row) ? row : refuseRepeat(row, firstLine)
}

/**
 * Send the readings of a source in batches, and commit each batch in file order.
 * Throws the first error of the source, a batch or its commit, and the reason of an aborted `signal`. Batches that are
 * committed before stay.
 * Source: docs/rules/imports.md #laws.
 */
export const sendReadings = async (options: SendingOptions): Promise<void> => {
  const { source, identities, from, signal } = options
  const queue = batchQueue(options)
  let batch: BatchBuilder = startBatch()
  for await (const rows of source.read()) {
    signal.throwIfAborted()
    // No batch acknowledges the lines that an earlier run sent.
    source.forget(from)
    for (const read of rows) {
      const row = checkRepeat(read, identities)
      if (row.line <= from) continue
      if (batch.isFull(row.line)) {
        const full = batch.build()
        // The rest of a line that is split is in the next batch, so that the line is not complete.
        await queue.add({ ...full, lastLine: Math.min(full.lastLine, row.line - 1) })
        batch = startBatch()
      }
      batch.add(row)
    }
  }
  if (!batch.isEmpty()) await queue.add(batch.build())
  await queue.end()
}
