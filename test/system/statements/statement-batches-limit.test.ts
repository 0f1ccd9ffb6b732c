import { expect, it } from 'vitest'
import { type BatchAnswer, readBatch } from '../../support/statements/statement-batch.ts'
import { withServer } from '../../support/system/embedded-server.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
const limit = 100_000
const body = { all: true, start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }

it(`a batch of all locations has up to ${limit} of them`, { timeout: 300_000 }, async () => {
  const client = await system.login()
  const home = await makeHome(client, { import: 0.1 })
  // Copies of the location, because 100,000 requests take minutes.
  const copies = await withServer(system, async server => {
    const { rowCount } = await server.query(
      `insert into locations
      select (jsonb_populate_record(l, jsonb_build_object('id', 'loc_' || lpad(to_hex(n), 24, '0')))).*
      from locations l, generate_series(1, $2::int) n where l.id = $1`,
      [home, limit],
    )
    return rowCount
  })
  expect(copies).toBe(limit)
  const refused = await client.send('POST', '/statements/batch', body)
  const message = `A batch must have at most ${limit} locations. Send several batches with object_ids or customer_id.`
  expect([refused.status, refused.json]).toMatchObject([400, { code: 'too_many_locations', message }])
  await client.ask('DELETE', `/locations/${home}`)
  // The location was deleted after the first day of the statement, so it still counts for June.
  expect((await client.send('POST', '/statements/batch', body)).status).toBe(400)
  const later = { ...body, start_date: '2035-06-01', end_date: '2035-07-01' }
  const { id, total } = (await client.ask('POST', '/statements/batch', later)) as BatchAnswer
  expect(total).toBe(limit)
  await client.ask('DELETE', `/statements/batch/${id}`)
  expect((await readBatch(client, id)).status).toBe('STOPPED')
})
