import sql from 'sql-template-tag'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { maxRefusalEvents } from '../../../services/query-service/refusal-events.ts'
import { caller, makeAccount, openService } from '../../support/registry/service.ts'
import { useTestDatabase } from '../../support/registry/use-database.ts'

const { database } = await useTestDatabase()
afterEach(() => void vi.useRealTimers())

describe('refused writes of a key without write access', () => {
  it('cause at most 100 events per minute, and the others are counted in the log', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const service = openService(database)
    const { live, test } = await makeAccount(service)
    const tenant = { accountId: live.accountId, liveMode: true }
    const draft = { scope: 'read', description: null } as const
    const { apiKey, secret } = await createApiKey(
      database.operator,
      tenant,
      draft,
      'a secret of at least thirty-two characters',
      0,
    )
    const read = caller(service.app, { authorization: `Bearer ${secret}` })
    const events = async (): Promise<number> => {
      const { rows } = await database.operator<{ count: string }>(sql`
        select count(*) from events where account_id = ${live.accountId} and type = 'customer.create.failed'`)
      return Number(rows[0]?.count)
    }
    for (let index = 0; index < maxRefusalEvents; index += 1)
      expect((await read('POST', '/customers', {})).status).toBe(403)
    expect(await events()).toBe(100)
    for (let index = 0; index < 7; index += 1) expect((await read('POST', '/customers', {})).status).toBe(403)
    expect(await events()).toBe(100)
    // Each key has its own count.
    expect((await test.call('POST', '/customers', { unknown: 1 })).status).toBe(400)
    expect(await events()).toBe(101)
    vi.advanceTimersByTime(60_000)
    expect(service.errors).toEqual([{ left_out: 7, key_ids: [apiKey.id] }])
    expect((await read('POST', '/customers', {})).status).toBe(403)
    expect(await events()).toBe(102)
  })
})
