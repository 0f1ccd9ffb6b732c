import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { postStatement } from '../../support/statements/statement-answer.ts'
import { doneBatch, exportOf, readBatch, startBatch } from '../../support/statements/statement-batch.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { killAtWork } from '../../support/system/kill-at-work.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
const rounds = Number(process.env['KILL_ROUNDS'] ?? 3)
const month = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }

it('a batch continues after its process was killed, without a statement lost or doubled', {
  timeout: 120_000 + rounds * 100_000,
}, async () => {
  let client = await system.login()
  const homes = await inParallel(Array.from({ length: 40 }), 4, () => makeHome(client, { import: 0.1 }))
  await client.submit(homes.map(home => bought(home, 1, '2025-06-03T10:00:00Z', '2025-06-03T11:00:00Z')))
  const { id } = await startBatch(client, { object_ids: homes, ...month, finalise: true })
  let killed = 0
  for (let round = 0; round < rounds; round += 1) {
    await sleep(100 + 150 * round)
    if ((await readBatch(client, id)).status === 'RUNNING') killed += 1
    await system.killAndStart()
    client = await system.login()
  }
  expect(killed).toBeGreaterThan(0)
  const done = await doneBatch(client, id)
  expect([done.total, done.done, done.failed]).toEqual([40, 40, []])
  const statements = await exportOf(client, id)
  expect(statements.map(one => one.location_id)).toEqual(homes.toSorted())
  for (const statement of statements) {
    expect(statement.status).toBe('FINAL')
    expect(await postStatement(client, statement.location_id, month)).toEqual(statement)
    const { data } = (await client.ask('GET', `/events?event_type=statement.finalised&object_id=${statement.id}`)) as {
      data: object[]
    }
    expect(data).toHaveLength(1)
  }
})

it('a location that ends the process eight times fails, and the others have their statements', {
  timeout: 300_000,
}, async () => {
  let client = await system.login()
  const homes = (await inParallel(Array.from({ length: 3 }), 3, () => makeHome(client, { import: 0.1 }))).toSorted()
  await client.submit(homes.map(home => bought(home, 1, '2025-06-03T10:00:00Z', '2025-06-03T11:00:00Z')))
  const [first, second, third] = homes
  const pages = {
    // The statement of the second location waits for the lock of its FINAL statements.
    lock: `select pg_advisory_lock(hashtextextended('statements of ${system.sandbox().account_id} ${second}', 0))`,
    attempts: `select attempts from statement_batch_pages
      where finished_at is null and claim is not null and (attempts <= 3 or location_ids[1] = '${second}')`,
    expire: 'update statement_batch_pages set due_at = clock_timestamp() where finished_at is null',
  }
  let id = ''
  // Attempts 1 to 3 calculate all locations together, later ones the first location of the page alone.
  const seen = await killAtWork(system, pages, 8, async () => {
    id = (await startBatch(client, { object_ids: homes, ...month, finalise: true })).id
  })
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  client = await system.login()
  const done = await doneBatch(client, id)
  const message = 'The statement could not be calculated. Request it alone to see the reason.'
  expect([done.done, done.failed]).toEqual([2, [{ object_id: second, code: 'unavailable', message }]])
  expect((await exportOf(client, id)).map(one => one.location_id)).toEqual([first, third])
})
