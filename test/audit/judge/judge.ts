import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../support/client.ts'
import type { DeadLetter } from '../audited-system.ts'
import type { PlacedLocation, World } from '../history/place-world.ts'
import { type Books, readBooks } from './books.ts'
import { type Difference, judgeLocations, judgeReceipts, type Verdict } from './verdict.ts'

export type Judging = {
  readonly client: Client
  readonly deadLetters: () => Promise<readonly DeadLetter[]>
  readonly failedStops: readonly string[]
  readonly world: World
  readonly journalFile: string
  /** Whether stored costs may still change by themselves. */
  readonly hasRepricing: boolean
  /** Answers that nothing sent deserved. */
  readonly refused: readonly string[]
  readonly observe: (phase: 'receipts' | 'records', done: number, total: number) => void
}

export type Judged = Verdict & { readonly books: Books }

const settleMs = 180_000
const settlePauseMs = 10_000

/** Some locations are deleted in the end; what their records cost stays. */
const isDoomed = (_: PlacedLocation, index: number): boolean => index % 20 === 2

export const deleteDoomed = async (client: Client, { locations }: World): Promise<readonly PlacedLocation[]> => {
  const doomed = locations.filter(isDoomed)
  for (const { locationId } of doomed) {
    const { status, text } = await client.send('DELETE', `/locations/${locationId}`)
    if (status !== 202 && status !== 404) throw new Error(`${locationId} was not deleted: ${status} ${text}`)
  }
  return doomed
}

/**
 * Judge receipts, then every record and month. Where costs may still change, again and again until nothing differs or time is up; then
 * the doomed locations are deleted and judged once more.
 */
export const judge = async ({
  client,
  deadLetters,
  failedStops,
  world,
  journalFile,
  hasRepricing,
  refused,
  observe,
}: Judging): Promise<Judged> => {
  const books = readBooks(journalFile)
  const [ofRecords, ofReadings] = [books.book.receipts.length, books.registers.receipts.length]
  const total = books.book.accounts.size + books.registers.intervals.size
  const judgeAll = (locations: readonly PlacedLocation[]) =>
    judgeLocations(client, locations, books, done => observe('records', done, total))
  const differences: Difference[] = [
    ...(await judgeReceipts(client, books, done => observe('receipts', done, ofRecords))),
    ...failedStops.map(found => ({ kind: 'stop', subject: 'a process', expected: '0 within 15 s of SIGTERM', found }) as const),
    ...refused.map(found => ({ kind: 'answer', subject: 'a request', expected: 'taken', found }) as const),
  ]
  let judged = await judgeAll(world.locations)
  // The first judging may take longer than all that.
  const deadline = performance.now() + settleMs
  while (hasRepricing && judged.differences.length > 0 && performance.now() < deadline) {
    await sleep(settlePauseMs)
    judged = await judgeAll(world.locations)
  }
  // All that is sent can be read and priced.
  const aside = await deadLetters()
  const deleted = hasRepricing ? await judgeAll(await deleteDoomed(client, world)) : { differences: [] }
  return {
    ...judged,
    books,
    receipts: ofRecords + ofReadings,
    differences: [
      ...differences,
      ...judged.differences,
      ...deleted.differences,
      ...aside.map(
        ({ id, code, reason }) => ({ kind: 'aside', subject: id, expected: 'nothing put aside', found: `${code}: ${reason}` }) as const,
      ),
    ],
  }
}
