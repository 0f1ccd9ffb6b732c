import sql from 'sql-template-tag'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Query } from '../../../../services/platform/postgres/database.ts'
import { ownedBy, readBoundedPage } from '../../../../services/platform/postgres/page.ts'
import { createLocation } from '../../../../services/platform/postgres/registry/locations.ts'
import { changeTenant, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { locationDraft } from '../../../support/registry/drafts.ts'
import { useTenants } from '../../../support/registry/use-database.ts'

const { database, live } = await useTenants()
beforeAll(async () => {
  for (let made = 0; made < 5; made += 1)
    await changeTenant(database, live, tx => createLocation(tx, locationDraft(), 1_760_000_000_000))
})

describe('a page with a limit of bytes', () => {
  const sizes = sql`1`
  const listing = { table: 'locations', columns: sql`id` }
  const read = (limit: number, maxBytes: number, cursor: { startingAfter?: string; endingBefore?: string } = {}) =>
    withTenant(database, live, tx =>
      readBoundedPage<{ readonly id: string }>(
        tx.query,
        { ...listing, scope: ownedBy(tx), filter: sql`true`, size: sizes, maxBytes },
        { limit, startingAfter: null, endingBefore: null, ...cursor },
      ),
    )
  const value = <T>(page: { readonly ok: boolean; readonly value?: T }): T => page.value ?? expect.fail()

  it('ends after its maximum bytes, with at least one object, in both directions', async () => {
    const { items: all, hasMore } = value(await read(100, 100))
    expect([all.length, hasMore]).toEqual([5, false])
    expect(value(await read(4, 100))).toEqual({ items: all.slice(0, 4), hasMore: true })
    expect(value(await read(100, 3))).toEqual({ items: all.slice(0, 3), hasMore: true })
    expect(value(await read(100, 0))).toEqual({ items: all.slice(0, 1), hasMore: true })
    expect(value(await read(100, 2, { startingAfter: all[2]?.id ?? '' }))).toEqual({
      items: all.slice(3),
      hasMore: false,
    })
    expect(value(await read(100, 2, { endingBefore: all[4]?.id ?? '' }))).toEqual({
      items: all.slice(2, 4),
      hasMore: true,
    })
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
