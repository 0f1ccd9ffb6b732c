import { setTimeout as sleep } from 'node:timers/promises'
import { parseExactly } from '../ledger/exact-decimal.ts'
import type { StoredReceipt } from '../ledger/read-back.ts'
import type { History } from './history.ts'
import { type PlayContext, type PlayedLocation, playInOrder, playShuffled } from './play.ts'
import { differences, readCosts, readRows } from './stored-state.ts'
import { verifyHistory } from './verify-history.ts'

/** Two plays of one history, and the differences between them and to the exact calculation. */
export type Comparison = {
  readonly inOrder: PlayedLocation
  readonly shuffled: PlayedLocation
  readonly faults: readonly string[]
}

/** Minimum time in ms until the last request of a play is stored. */
const settleMs = 500
const pollMs = 300

const names = ['in order', 'shuffled'] as const

/** Compare the rows of two plays once. */
export const compareRows = async (
  context: PlayContext,
  inOrder: PlayedLocation,
  shuffled: PlayedLocation,
): Promise<readonly string[]> => {
  const [expected, found] = await Promise.all([readRows(context, inOrder), readRows(context, shuffled)])
  return differences(expected, found, names)
}

/** Return a fault if a receipt is not complete. Law: submitted = processed + failed. */
const receiptFault = async ({ client }: PlayContext, batchId: string): Promise<readonly string[]> => {
  const { status, text } = await client.send('GET', `/meters/batch?batch_id=${batchId}`)
  if (status !== 200) return [`receipt ${batchId}: ${status} ${text}`]
  const receipt = parseExactly(text) as StoredReceipt
  const sum = Number(receipt.records_processed) + receipt.failed_records.length
  return sum === Number(receipt.records_submitted) ? [] : [`receipt ${batchId}: ${text}`]
}

/** Maximum time in ms to wait for faults that change, without the time in which work is pending. */
const maxWaitMs = 240_000

type ReadFaults = () => Promise<readonly string[]>

/**
 * Read faults until there are none, or until they did not change for `quietMs` and every receipt is complete.
 * Return the last faults.
 */
const stableFaults = async (
  quietMs: number,
  readFaults: ReadFaults,
  pendingFaults: ReadFaults,
): Promise<readonly string[]> => {
  let deadline = performance.now() + maxWaitMs
  let [seen, since] = ['', performance.now()]
  for (;;) {
    const faults = await readFaults()
    if (faults.length === 0) return faults
    const text = faults.join()
    if (text !== seen) [seen, since] = [text, performance.now()]
    const quietUntil = performance.now()
    if (quietUntil - since > quietMs) {
      const pending = await pendingFaults()
      // On a busy machine, pending work can end minutes after `faults` were read.
      const last = await readFaults()
      const isStable = pending.length === 0 && last.join() === text
      if (isStable || quietUntil > deadline) return [...pending, ...last]
      since = performance.now()
      deadline += since - quietUntil
    }
    await sleep(pollMs)
  }
}

const compareCosts = async (
  { client }: PlayContext,
  history: History,
  inOrder: PlayedLocation,
  shuffled: PlayedLocation,
): Promise<readonly string[]> => {
  const [expected, found] = await Promise.all([inOrder, shuffled].map(location => readCosts(client, history, location)))
  return expected === undefined || found === undefined ? [] : differences(expected, found, names)
}

/**
 * Play a history in order and shuffled at two new locations, and compare the stored data of both.
 * The comparison is final if it finds no fault, or if the faults did not change for `quietMs` and `settled` resolved.
 */
export const comparePlays = async (
  context: PlayContext,
  history: History,
  quietMs: number,
  settled: () => Promise<void> = async () => undefined,
): Promise<Comparison> => {
  const [inOrder, shuffled] = await Promise.all([playInOrder(context, history), playShuffled(context, history)])
  const batchIds = [...inOrder.batchIds, ...shuffled.batchIds]
  const pendingFaults: ReadFaults = async () => {
    await settled()
    const faults: string[] = []
    for (const batchId of batchIds) faults.push(...(await receiptFault(context, batchId)))
    return faults
  }
  const readStable = (readFaults: ReadFaults): Promise<readonly string[]> =>
    stableFaults(quietMs, readFaults, pendingFaults)
  const done = (faults: readonly string[]): Comparison => ({ inOrder, shuffled, faults })
  await sleep(settleMs)
  const rows = await readStable(() => compareRows(context, inOrder, shuffled))
  const verified = await readStable(() => verifyHistory(context, history, inOrder))
  if (rows.length + verified.length > 0) return done([...rows, ...verified])
  const costs = await readStable(() => compareCosts(context, history, inOrder, shuffled))
  if (costs.length > 0) return done(costs)
  for (const batchId of batchIds.filter((_, index) => (index + history.seed) % 4 === 0)) {
    const receipt = await readStable(() => receiptFault(context, batchId))
    if (receipt.length > 0) return done(receipt)
  }
  return done([])
}
