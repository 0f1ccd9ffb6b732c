import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nextSlice } from '../../../../services/platform/concurrency/time-slices.ts'
import type { Query } from '../../../../services/platform/postgres/database.ts'
import { ownedBy, readBoundedPage, readPage } from '../../../../services/platform/postgres/page.ts'
import { createLocation } from '../../../../services/platform/postgres/registry/locations.ts'
import { changeTenant, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { locationDraft } from '../../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../../../support/stores/postgres.ts'

const opened = await openTestDatabase()
const { database } = opened
const { live } = await makeTenants(database)
afterAll(() => opened[Symbol.asyncDispose]())
beforeAll(async () => {
  for (let made = 0; made < 5; made += 1)
    await changeTenant(database, live, tx => createLocation(tx, locationDraft(), 1_760_000_000_000))
})

const busyFor = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** How many slices works of the service get between one row and the next, while 20 of them always wait. */
const slicesBetweenRows = async (sliceAccount: { readonly sliceAccount?: string }): Promise<readonly number[]> => {
  let granted = 0
  let isOver = false
  const rivals = Array.from({ length: 20 }, async () => {
    while (!isOver) {
      await nextSlice()
      granted += 1
    }
  })
  const seen: number[] = []
  const fromRow = (row: { readonly id: string }) => {
    seen.push(granted)
    // Longer than a slice.
    busyFor(12)
    return row
  }
  const newest = { limit: 100, startingAfter: null, endingBefore: null }
  const page = await withTenant(database, live, tx =>
    readPage(
      tx.query,
      { table: 'locations', columns: sql`id`, scope: ownedBy(tx), filter: sql`true`, fromRow, ...sliceAccount },
      newest,
    ),
  )
  isOver = true
  await Promise.all(rivals)
  expect(page.ok && page.value.items.length).toBe(5)
  return seen.slice(1).map((count, index) => count - (seen[index] ?? 0))
}

describe('a page of rows', () => {
  it('is read at once: no other work holds up its transaction', async () => {
    expect(await slicesBetweenRows({})).toEqual([0, 0, 0, 0])
  })

  it("is read in its account's turn if its rows are large: it waits for one slice of the service's works, not for all of them", async () => {
    const between = await slicesBetweenRows({ sliceAccount: live.accountId })
    expect(Math.max(...between)).toBeLessThanOrEqual(3)
    expect(Math.min(...between)).toBeGreaterThan(0)
  })
})

describe('a page that is bounded by bytes', () => {
  const sizes = sql`1`
  const listing = { table: 'locations', columns: sql`id`, fromRow: ({ id }: { readonly id: string }) => id } as const
  const read = (limit: number, maxBytes: number, cursor: { startingAfter?: string; endingBefore?: string } = {}) =>
    withTenant(database, live, tx =>
      readBoundedPage(
        tx.query,
        { ...listing, scope: ownedBy(tx), filter: sql`true`, size: sizes, maxBytes },
        { limit, startingAfter: null, endingBefore: null, ...cursor },
      ),
    )
  const value = <T>(page: { readonly ok: boolean; readonly value?: T }): T => page.value ?? expect.fail()

  it('ends after so many bytes, with one object in any case, in both directions', async () => {
    const { items: all, hasMore } = value(await read(100, 100))
    expect([all.length, hasMore]).toEqual([5, false])
    expect(value(await read(4, 100))).toEqual({ items: all.slice(0, 4), hasMore: true })
    expect(value(await read(100, 3))).toEqual({ items: all.slice(0, 3), hasMore: true })
    expect(value(await read(100, 0))).toEqual({ items: all.slice(0, 1), hasMore: true })
    expect(value(await read(100, 2, { startingAfter: all[2] ?? '' }))).toEqual({ items: all.slice(3), hasMore: false })
    expect(value(await read(100, 2, { endingBefore: all[4] ?? '' }))).toEqual({ items: all.slice(2, 4), hasMore: true })
  })

  it('is read in one statement, so that it shows one state of the table', async () => {
    const statements: string[] = []
    await withTenant(database, live, tx => {
      const query: Query = statement => {
        statements.push(statement.text)
        return tx.query(statement)
      }
      const bounded = { ...listing, scope: ownedBy(tx), filter: sql`true`, size: sizes, maxBytes: 2 }
      return readBoundedPage(query, bounded, { limit: 10, startingAfter: null, endingBefore: null })
    })
    expect(statements).toHaveLength(1)
  })
})
