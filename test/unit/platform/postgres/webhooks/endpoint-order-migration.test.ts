import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrate, migrationFolder } from '../../../../../services/platform/postgres/migrate.ts'
import { openTestDatabase } from '../../../../support/stores/postgres.ts'

const opened = await openTestDatabase()
const name = `before_${opened.address.database}`
const folder = mkdtempSync(join(tmpdir(), 'wattledger-migrations-'))

const run = async (database: string, text: string, values: readonly unknown[] = []) => {
  const client = new pg.Client({ ...opened.address, database })
  await client.connect()
  try {
    return (await client.query(text, [...values])).rows
  } finally {
    await client.end()
  }
}

afterAll(async () => {
  await run('postgres', `drop database if exists ${name}`)
  rmSync(folder, { recursive: true })
  await opened[Symbol.asyncDispose]()
})

const clock = (hour: number): string => `2026-01-05T${String(hour).padStart(2, '0')}:00:00Z`

it('existing endpoints receive the waiting events that are not older than they are, and all later ones', async () => {
  await run('postgres', `create database ${name}`)
  cpSync(migrationFolder, folder, { recursive: true })
  for (const file of readdirSync(folder)) if (file >= '0036') rmSync(join(folder, file))
  await migrate({ ...opened.address, database: name }, folder)
  for (const hour of [1, 3, 5])
    await run(
      name,
      `insert into outbox (topic, key, account_id, live_mode, payload, time_created) values ('webhook.events.v1', $1, 'acc_1', false, '{}', $2)`,
      [String(hour), clock(hour)],
    )
  for (const hour of [0, 4, 6])
    await run(
      name,
      `insert into webhook_endpoints (account_id, live_mode, id, url, event_types, layout, secrets, time_created)
       values ('acc_1', false, $1, 'https://example.com', '{*}', 'current', '[]', $2)`,
      [`whe_${hour}`, clock(hour)],
    )
  await migrate({ ...opened.address, database: name })
  const waiting = await run(
    name,
    `select e.id, coalesce(string_agg(o.key, ',' order by o.id), '') as keys from webhook_endpoints e
     left join outbox o on o.id > e.outbox_id group by e.id order by e.id`,
  )
  expect(waiting).toEqual([
    { id: 'whe_0', keys: '1,3,5' },
    { id: 'whe_4', keys: '5' },
    { id: 'whe_6', keys: '' },
  ])
  const [later] = await run(
    name,
    `insert into outbox (topic, key, payload, time_created) values ('webhook.events.v1', 'later', '{}', $1) returning id`,
    [clock(0)],
  )
  const [{ count }] = await run(name, 'select count(*)::int as count from webhook_endpoints where outbox_id < $1', [
    later.id,
  ])
  expect(count).toBe(3)
})
