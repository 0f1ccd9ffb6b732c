import { setTimeout as sleep } from 'node:timers/promises'
import { parseExactly } from '../ledger/exact-decimal.ts'
import type { StoredReceipt } from '../ledger/read-back.ts'
import type { History } from './history.ts'
import { judgeHistory } from './judge-history.ts'
import { type Played, playAnyhow, playInOrder, type Stage } from './play.ts'
import { differences, readCosts, readRows } from './stored-state.ts'

/** A history that was played twice, and in what the two plays and the exact calculation differ. */
export type Comparison = { readonly inOrder: Played; readonly anyhow: Played; readonly faults: readonly string[] }

/** So long it takes at least until the last request of a play is stored. */
const settleMs = 500
const pollMs = 300

const names = ['in order', 'anyhow'] as const

const compareRows = async (stage: Stage, inOrder: Played, anyhow: Played): Promise<readonly string[]> => {
  const [wanted, found] = await Promise.all([readRows(stage, inOrder), readRows(stage, anyhow)])
  return differences(wanted, found, names)
}

/** Tell whether a receipt has reached its end: submitted = processed + failed. */
const receiptFault = async ({ client }: Stage, batchId: string): Promise<readonly string[]> => {
  const { status, text } = await client.send('GET', `/meters/batch?batch_id=${batchId}`)
  if (status !== 200) return [`receipt ${batchId}: ${status} ${text}`]
  const receipt = parseExactly(text) as StoredReceipt
  const sum = Number(receipt.records_processed) + receipt.failed_records.length
  return sum === Number(receipt.records_submitted) ? [] : [`receipt ${batchId}: ${text}`]
}

/** What a busy machine still owes is waited for so long. */
const longestMs = 240_000

type Ask = () => Promise<readonly string[]>

/**
 * Ask until nothing is wrong any more, or what is wrong has not changed for some time although every receipt has reached its end; gives
 * what was wrong in the end.
 */
const faultsAtRest = async (quietMs: number, ask: Ask, owed: Ask): Promise<readonly string[]> => {
  const startedAt = performance.now()
  let [seen, since] = ['', startedAt]
  for (;;) {
    const faults = await ask()
    if (faults.length === 0) return faults
    const text = faults.join()
    if (text !== seen) [seen, since] = [text, performance.now()]
    if (performance.now() - since > quietMs) {
      const late = await owed()
      const isOver = performance.now() - startedAt > longestMs
      if (isOver || (late.length === 0 && (await ask()).join() === text)) return [...late, ...faults]
      since = performance.now()
    }
    await sleep(pollMs)
  }
}

const compareCosts = async ({ client }: Stage, history: History, inOrder: Played, anyhow: Played): Promise<readonly string[]> => {
  const [wanted, found] = await Promise.all([inOrder, anyhow].map(played => readCosts(client, history, played)))
  return wanted === undefined || found === undefined ? [] : differences(wanted, found, names)
}

/** Compare the rows of two plays once more, when all is quiet. */
export const compareAgain = compareRows

/**
 * Play a history in order and anyhow at two new locations, and compare what is stored once it has settled: once it is the same, or has
 * not changed for `quietMs` though nothing is left to do as far as `settled` can tell.
 */
export const comparePlays = async (
  stage: Stage,
  history: History,
  quietMs: number,
  settled: () => Promise<void> = async () => undefined,
): Promise<Comparison> => {
  const [inOrder, anyhow] = await Promise.all([playInOrder(stage, history), playAnyhow(stage, history)])
  const batchIds = [...inOrder.batchIds, ...anyhow.batchIds]
  const owed: Ask = async () => {
    await settled()
    const faults: string[] = []
    for (const batchId of batchIds) faults.push(...(await receiptFault(stage, batchId)))
    return faults
  }
  const atRest = (ask: Ask): Promise<readonly string[]> => faultsAtRest(quietMs, ask, owed)
  const done = (faults: readonly string[]): Comparison => ({ inOrder, anyhow, faults })
  await sleep(settleMs)
  const rows = await atRest(() => compareRows(stage, inOrder, anyhow))
  const judged = await atRest(() => judgeHistory(stage, history, inOrder))
  if (rows.length + judged.length > 0) return done([...rows, ...judged])
  const costs = await atRest(() => compareCosts(stage, history, inOrder, anyhow))
  if (costs.length > 0) return done(costs)
  for (const batchId of batchIds.filter((_, index) => (index + history.seed) % 4 === 0)) {
    const receipt = await atRest(() => receiptFault(stage, batchId))
    if (receipt.length > 0) return done(receipt)
  }
  return done([])
}
