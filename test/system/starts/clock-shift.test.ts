import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSubscriber } from '../../support/event-ledger/subscriber.ts'
import { doneExport } from '../../support/exports/done-export.ts'
import { doneBatch, startBatch } from '../../support/statements/statement-batch.ts'
import { login } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { dataFolder, removeData, startSystem } from '../../support/system/running-system.ts'
import { clockShiftsMs, shiftedClock } from '../../support/system/shifted-clock.ts'
import { until } from '../../support/system/until.ts'

const folder = dataFolder()
const run = promisify(execFile)
const program = fileURLToPath(new URL('../../../services/command-line.mjs', import.meta.url))

/** Start the service with a clock that is wrong by `shiftMs`. The clock of its database is right. */
const startShifted = (shiftMs: number) =>
  startSystem(folder, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', ...shiftedClock(shiftMs) })

const day = { start_date: '2025-06-02', end_date: '2025-06-03', finalise: true }

describe('a command whose clock is wrong', () => {
  const ownFolder = dataFolder()
  afterAll(() => removeData(ownFolder))

  it.each(clockShiftsMs.slice(0, 2))('by %i ms writes the time of the database', async shiftMs => {
    const environment = { WATTLEDGER_DATA_DIR: ownFolder, ...shiftedClock(shiftMs) }
    const before = Date.now()
    const args = [program, 'account', 'create', '--name', `Shifted by ${shiftMs}`, '--json']
    const { stdout } = await run(process.execPath, args, { env: environment })
    const created = Date.parse((JSON.parse(stdout) as { readonly time_created: string }).time_created)
    expect(created).toBeGreaterThan(before - 1_000)
    expect(created).toBeLessThan(Date.now() + 1_000)
  })
})

describe('a service whose clock is wrong', () => {
  let subscriber: Awaited<ReturnType<typeof openSubscriber>>
  let earlierHome: string | null = null
  beforeAll(async () => {
    subscriber = await openSubscriber()
  })
  afterAll(async () => {
    await subscriber[Symbol.asyncDispose]()
    removeData(folder)
  })

  // Each start has the data, claims and leases of the start before, whose clock was wrong by another amount.
  it.each(clockShiftsMs)(
    'by %i ms gives every time as its database, and does all work',
    { timeout: 120_000 },
    async shiftMs => {
      await using system = await startShifted(shiftMs)
      const client = await login(system.sandbox)
      const startedAt = Date.now()
      const { id: endpoint, secret } = (await client.ask('POST', '/webhooks', { url: subscriber.url })) as {
        readonly id: string
        readonly secret: string
      }
      subscriber.verifyWith(secret)
      const home = await makeHome(client, { import: 0.1 })
      const { time_created: created } = (await client.ask('GET', `/locations/${home}`)) as { time_created: string }
      expect(Date.parse(created)).toBeGreaterThan(startedAt - 1_000)
      expect(Date.parse(created)).toBeLessThan(Date.now() + 1_000)
      for (const location of [home, ...(earlierHome === null ? [] : [earlierHome])]) {
        const records = [bought(location, 1, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')]
        expect(await client.submit(records)).toMatchObject({ records_processed: 1 })
      }
      const span = { start_time: '2025-06-02T00:00:00Z', end_time: '2025-06-03T00:00:00Z' }
      const { data } = (await client.ask('POST', `/costs/interval/${home}`, span)) as { readonly data: object[] }
      expect(data).toMatchObject([{ energy: { value: 1000 } }])
      await doneExport(client)
      await doneExport(client)
      const batch = await startBatch(client, { object_ids: [home], ...day })
      expect((await doneBatch(client, batch.id)).total).toBe(1)
      const customer = await makeOne(client, '/customers', { reference_id: `customer ${shiftMs}` })
      await until(
        async () => subscriber.received.some(({ body }) => body.includes(customer)),
        arrived => arrived,
        30_000,
      )
      await client.ask('DELETE', `/webhooks/${endpoint}`)
      earlierHome = home
      await system.kill()
    },
  )
})
