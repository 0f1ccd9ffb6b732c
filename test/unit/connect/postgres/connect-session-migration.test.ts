import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate, migrationFolder } from '../../../../services/platform/postgres/migrate.ts'
import { openTestDatabase } from '../../../support/stores/postgres.ts'

const opened = await openTestDatabase()
const name = `before_${opened.address.database}`
const address = { ...opened.address, database: name }
const folder = mkdtempSync(join(tmpdir(), 'wattledger-migrations-'))
const [known, gone] = [`cot_${'a1'.repeat(16)}`, `cot_${'b2'.repeat(16)}`]

const run = async (database: string, text: string, values: readonly unknown[] = []) => {
  const client = new pg.Client({ ...opened.address, database })
  await client.connect()
  try {
    return (await client.query(text, [...values])).rows
  } finally {
    await client.end()
  }
}

const eventOf = (token: string, location: string) =>
  JSON.stringify({ id: token, object: 'connect_session', live_mode: false, location_id: location, metadata: 1.5 })

beforeAll(async () => {
  await run('postgres', `create database ${name}`)
  cpSync(migrationFolder, folder, { recursive: true })
  for (const file of readdirSync(folder)) if (file >= '0018') rmSync(join(folder, file))
  await migrate(address, folder)
  const at = '2026-01-05T12:00:00.123Z'
  await run(
    name,
    `insert into connect_sessions (account_id, live_mode, id, sealed_token, key_id, config, request, state, location_id, announced_at, time_created, expires_at)
     values ('acc_1', false, 'hash', 'sealed', 'key', '{}', '{}', '{}', 'loc_1', $1, $1, $1)`,
    [at],
  )
  for (const [id, token, location] of [
    ['evt_1', known, 'loc_1'],
    ['evt_2', gone, 'loc_2'],
  ] as const) {
    const data = eventOf(token, location)
    await run(
      name,
      `insert into events (account_id, live_mode, id, type, object_id, data, time_created) values ('acc_1', false, $1, 'connect_session.complete', $2, $3, $4)`,
      [id, token, data, at],
    )
    const payload = `{"id" : "${id}", "type" : "connect_session.complete", "object_id" : "${token}", "data" : ${data}}`
    await run(
      name,
      `insert into outbox (topic, key, account_id, live_mode, payload, time_created) values ('webhook.events.v1', $1, 'acc_1', false, $2, now())`,
      [`acc_1:${token}`, payload],
    )
  }
  await run(
    name,
    `insert into webhook_attempts (account_id, live_mode, id, delivery_id, endpoint_id, status_code, duration_ms, response_body, time_created)
     values ('acc_1', false, 'wha_1', 'whd_1', 'whe_1', 200, 1, $1, now())`,
    [`you sent ${known}`],
  )
  for (const [key, answer] of [
    ['clear', JSON.stringify({ status: 200, headers: {}, body: JSON.stringify({ connect_token: known }) })],
    ['other', JSON.stringify({ status: 200, headers: {}, body: '{}' })],
  ]) {
    await run(
      name,
      `insert into idempotency_keys (account_id, live_mode, key, request_hash, token, started_at, answer) values ('acc_1', false, $1, 'h', 't', now(), $2)`,
      [key, answer],
    )
  }
  await migrate(address)
})

afterAll(async () => {
  await run('postgres', `drop database ${name} with (force)`)
  await opened[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

describe('a database that has stored Connect tokens', () => {
  it('has no token after the migration, in any row of any table', async () => {
    const tables = await run(
      name,
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    )
    for (const { name: table } of tables) {
      const rows = await run(name, `select t::text as text from "${table}" t`)
      for (const { text } of rows) expect([table, text]).toEqual([table, expect.not.stringMatching(/cot_[0-9a-f]{32}/)])
    }
  })

  it('names the session of an event by its id, and a deleted session by a new id', async () => {
    const [session] = await run(name, 'select session_id, sealed_token from connect_sessions')
    expect(session).toEqual({ session_id: expect.stringMatching(/^fps_[0-9a-f]{24}$/), sealed_token: null })
    const events = await run(name, 'select id, object_id, data::text as data from events order by id')
    expect(events[0]).toMatchObject({ object_id: session.session_id })
    expect(events[1].object_id).toMatch(/^fps_[0-9a-f]{24}$/)
    expect(events[1].object_id).not.toBe(session.session_id)
    for (const [index, location] of ['loc_1', 'loc_2'].entries()) {
      const expected = eventOf(known, location).replace(`"id":"${known}"`, `"session_id":"${events[index].object_id}"`)
      expect(events[index].data).toBe(expected)
    }
    const outbox = await run(name, 'select key, payload::text as payload from outbox order by id')
    expect(outbox.map(({ key }) => key)).toEqual(events.map(({ object_id }) => `acc_1:${object_id}`))
    expect(outbox.map(({ payload }) => JSON.parse(payload).data)).toEqual(events.map(({ data }) => JSON.parse(data)))
    expect(JSON.parse(outbox[0].payload)).toMatchObject({ id: 'evt_1', object_id: session.session_id })
  })

  it('keeps other responses of receivers, and responses without tokens', async () => {
    expect(await run(name, 'select response_body from webhook_attempts')).toEqual([
      { response_body: 'you sent cot_removed' },
    ])
    expect(await run(name, 'select key from idempotency_keys')).toEqual([{ key: 'other' }])
  })
})
