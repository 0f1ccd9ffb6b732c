import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, it } from 'vitest'
import type { Role } from '../../../services/platform/config/config.ts'
import { SOCKET_PORT } from '../../../services/platform/postgres/embedded/postmaster.ts'
import {
  faultInjectionTimeoutMs,
  rounds,
  runFaultInjection,
  seed,
  wanted,
} from '../../support/event-ledger/fault-injection.ts'
import { openProcesses, type RoleProcess } from '../../support/kafka/processes.ts'
import { sharedBrokers, skippedWithout } from '../../support/kafka/shared-broker.ts'
import { sharedFolderVariable } from '../../support/stores/postgres.ts'
import { type Client, login } from '../../support/system/client.ts'
import { until } from '../../support/system/until.ts'

const maxStarts = 5

type Fixture = Awaited<ReturnType<typeof openProcesses>>

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

/** Open the shared stores with a separate PostgreSQL, which the test kills and restarts. */
const openFixture = async (): Promise<Fixture> => {
  delete process.env[sharedFolderVariable]
  const fixture = stack.use(await openProcesses(await sharedBrokers(), `test-${randomUUID()}.`))
  Object.assign(fixture.variables, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  return fixture
}

const postmasterOf = ({ postgresFolder }: Fixture): number =>
  Number(readFileSync(join(postgresFolder, `.s.PGSQL.${SOCKET_PORT}.lock`), 'utf8').split('\n')[0])

/** Return whether PostgreSQL is available again. */
const answers = async ({ variables }: Fixture): Promise<boolean> => {
  const client = new pg.Client({ connectionString: variables.WATTLEDGER_POSTGRES_URL })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Start a process repeatedly, as a supervisor does. A start may fail because PostgreSQL was just killed. */
const startWithRetries = async (fixture: Fixture, role: Role): Promise<RoleProcess> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await fixture.start(role)
    } catch (error) {
      if (tries === maxStarts) throw error
    }
  }
}

describe.skipIf(skippedWithout('any broker') !== null)(
  'events during kills of their relay, of the webhook worker and of PostgreSQL',
  () => {
    it(`equal the ${wanted} changes, and each reaches its subscriber, through ${rounds} kills of each at moments of seed ${seed}`, {
      timeout: faultInjectionTimeoutMs,
    }, async () => {
      const fixture = await openFixture()
      let relay = await startWithRetries(fixture, 'query-service')
      let worker = await startWithRetries(fixture, 'webhook-worker')
      let client: Client | null = null
      const logIn = async (): Promise<void> => {
        client = await until(
          () => login({ ...fixture.sandbox(), base_url: relay.url }).catch(() => null),
          one => one !== null,
        )
      }
      await logIn()
      const killRelay = async (): Promise<void> => {
        client = null
        await relay.end('SIGKILL')
        relay = await startWithRetries(fixture, 'query-service')
        await logIn()
      }
      const killWorker = async (): Promise<void> => {
        await worker.end('SIGKILL')
        worker = await startWithRetries(fixture, 'webhook-worker')
      }
      const killPostgres = async (): Promise<void> => {
        process.kill(postmasterOf(fixture), 'SIGKILL')
        await until(() => answers(fixture), Boolean)
      }
      const groups = [
        [{ name: 'relay', kill: killRelay }],
        [{ name: 'worker', kill: killWorker }],
        [{ name: 'PostgreSQL', kill: killPostgres }],
      ]
      await runFaultInjection({ target: () => client, groups })
    })
  },
)
