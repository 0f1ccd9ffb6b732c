import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faultInjectionTimeoutMs, runFaultInjection, seed } from '../../support/event-ledger/fault-injection.ts'
import { listAll } from '../../support/event-ledger/verify-events.ts'
import { faultsOf } from '../../support/ledger/audit.ts'
import { type JournalEntry, readJournal } from '../../support/ledger/journal.ts'
import { type LedgerSize, openLedger } from '../../support/ledger/ledger.ts'
import { seededRandom } from '../../support/random.ts'
import { createOtherAccount } from '../../support/registry/accounts.ts'
import { openTestDatabase } from '../../support/stores/postgres.ts'
import { severablePostgres } from '../../support/stores/severable-postgres.ts'
import { type Client, login } from '../../support/system/client.ts'
import { dataFolder, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'

/** Duration of a hang in ms: longer than the 5 s after which the service gives up a query. */
const hangMs = 12_000

const stack = new AsyncDisposableStack()
const folder = dataFolder()

/** Start all roles with a PostgreSQL whose network can hang, and a second account. */
const openFixture = async () => {
  const { address: direct, database } = stack.use(await openTestDatabase())
  const postgres = stack.use(await severablePostgres(direct))
  const { user, database: name, host } = postgres.address
  stack.defer(() => removeData(folder))
  const system = stack.use(
    await startSystem(folder, {
      WATTLEDGER_POSTGRES_URL: `postgres://${user}@localhost/${name}?host=${encodeURIComponent(host)}`,
      WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    }),
  )
  const other = await createOtherAccount(database, folder, system.sandbox)
  return { postgres, client: await login(system.sandbox), other: await login(other) }
}

type Export = { readonly id: string; readonly status: string }

/** Create exports until the signal aborts. Returns the ids of those that were accepted. */
const createExports = async (client: Client, signal: AbortSignal): Promise<readonly string[]> => {
  const ids: string[] = []
  const period = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-02-01T00:00:00Z' }
  while (!signal.aborted) {
    const { status, json } = await client.send('POST', '/exports', { kind: 'records', format: 'csv', ...period })
    // An account has two unfinished exports at most. While PostgreSQL hangs, nothing is accepted.
    if (status < 300) ids.push((json as Export).id)
    else expect([429, 503]).toContain(status)
    await sleep(500)
  }
  return ids
}

describe('a PostgreSQL that hangs', () => {
  let fixture: Awaited<ReturnType<typeof openFixture>>
  beforeAll(async () => {
    fixture = await openFixture()
  })
  afterAll(() => stack.disposeAsync())

  it('loses and doubles no record and no event, and each export ends', {
    timeout: faultInjectionTimeoutMs,
  }, async () => {
    const { postgres, client, other } = fixture
    const file = join(folder, 'ledger.ndjson')
    const size: LedgerSize = { locations: 3, maxRecords: 30, maxTotalRecords: 1_000, maxPauseMs: 200 }
    await using ledger = await openLedger({ file, random: seededRandom(seed), target: () => other, ...size })
    const hang = async (): Promise<void> => {
      postgres.inflict({ kind: 'hang' })
      await sleep(hangMs)
      // Live: the process waits for its store and is not restarted.
      expect((await client.send('GET', '/health/live')).status).toBe(200)
      expect((await client.send('GET', '/customers?limit=1')).status).toBe(503)
      await postgres.restore()
      await until(
        async () => (await client.send('GET', '/customers?limit=1')).status,
        status => status === 200,
      )
    }
    const stop = new AbortController()
    const load = ledger.run(3, stop.signal)
    const exporting = createExports(other, stop.signal)
    // Changes of the first account, their events and deliveries are compared after the faults.
    const events = await runFaultInjection({
      target: () => client,
      groups: [[{ name: 'hang of PostgreSQL', kill: hang }]],
      afterFaults: async () => {
        stop.abort()
        await load
      },
    })
    await ledger.resendUnknown()
    const verdict = await ledger.audit(other)
    expect(faultsOf(verdict)).toEqual([])
    const answers = readJournal<JournalEntry>(file).filter(entry => entry.kind === 'answered')
    process.stdout.write(
      `records: ${verdict.seen.records}, refused or unanswered submissions: ${answers.filter(({ status }) => status !== 200).length}, events: ${events.length}\n`,
    )
    expect(verdict.seen.records).toBeGreaterThan(100)

    const ids = await exporting
    expect(ids.length).toBeGreaterThan(2)
    const unfinished = async (): Promise<readonly Export[]> =>
      (await listAll<Export>(other, '/exports')).filter(({ status }) => status !== 'DONE')
    expect(await until(unfinished, ({ length }) => length === 0)).toEqual([])
    expect((await listAll<Export>(other, '/exports')).map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]))
  })
})
