import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { postStatement } from '../../support/statements/statement-answer.ts'
import { doneBatch, exportOf, readBatch, startBatch } from '../../support/statements/statement-batch.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
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
