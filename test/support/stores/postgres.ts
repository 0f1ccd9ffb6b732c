import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Database, openDatabase, type PostgresAddress } from '../../../services/platform/postgres/database.ts'
import { startEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { migrate } from '../../../services/platform/postgres/migrate.ts'
import { createAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import type { Tenant } from '../../../services/platform/postgres/transaction.ts'

/** Names the folder of all temporary files of one run; set by `test-run.ts`. */
export const runFolderVariable = 'WATTLEDGER_TEST_RUN_FOLDER'

/** Names the folder of the server that the test files of one run share; set by `test-run.ts`. */
export const sharedFolderVariable = 'WATTLEDGER_TEST_POSTGRES_FOLDER'

type SocketAddress = Extract<PostgresAddress, { host: string }>

const template = 'migrated_template'

/** Make a folder that another user may pass: where the tests run as root, the server runs as `nobody`. */
export const makeTestFolder = (): string => {
  const folder = mkdtempSync(join(process.env[runFolderVariable] ?? '/var/tmp', 'wattledger-test-'))
  chmodSync(folder, 0o755)
  return folder
}

/** A migrated database of its own on the real embedded server. */
export type TestDatabase = AsyncDisposable & { readonly database: Database; readonly address: SocketAddress }

/**
 * Open a fresh migrated database. The files of one run share a server, which the first of them starts; a file that runs without the
 * shared folder starts a server of its own.
 */
export const openTestDatabase = async (): Promise<TestDatabase> => {
  const shared = process.env[sharedFolderVariable]
  const server =
    shared === undefined ? await ownServer() : { address: await sharedServer(shared), stop: async () => undefined }
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(server.address, `create database ${name} template ${template}`)
  const address = { ...server.address, database: name }
  const database = openDatabase({ address, tenantConnections: 8, operatorConnections: 4 })
  return {
    database,
    address,
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await administer(server.address, `drop database ${name} with (force)`)
      await server.stop()
    },
  }
}

/** Create an account and give its two worlds. */
export const makeTenants = async ({
  operator,
}: Database): Promise<{ readonly live: Tenant; readonly test: Tenant }> => {
  const account = await createAccount(
    operator,
    { displayName: 'Test', defaultApiVersion: 'current', requestsPerSecond: null },
    1_750_000_000_000,
  )
  return { live: { accountId: account.id, liveMode: true }, test: { accountId: account.id, liveMode: false } }
}

const administer = async (address: SocketAddress, statement: string): Promise<void> => {
  const client = new pg.Client({ ...address, database: 'postgres' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

const ownServer = async () => {
  const folder = makeTestFolder()
  const server = await startServer(folder)
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }
  return { address: server.address as SocketAddress, stop }
}

const startServer = async (folder: string) => {
  const server = await startEmbeddedServer({ dataFolder: folder, settings: { max_connections: '200' } })
  await administer(server.address as SocketAddress, `create database ${template}`)
  await migrate({ ...(server.address as SocketAddress), database: template })
  return server
}

/** The folder `starting` can be made once: the process that creates it starts the server, the others wait for the address. */
const sharedServer = async (folder: string): Promise<SocketAddress> => {
  const note = join(folder, 'address.json')
  if (!existsSync(note) && claimFolder(join(folder, 'starting'))) {
    const { address } = await startServer(folder)
    writeFileSync(`${note}.part`, JSON.stringify(address))
    renameSync(`${note}.part`, note)
  }
  for (const deadline = performance.now() + 30_000; !existsSync(note); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`no test server came up in ${folder}`)
  }
  return JSON.parse(readFileSync(note, 'utf8'))
}

/** Create a folder. Return whether this call created it: of several processes, one gets `true`. */
export const claimFolder = (folder: string): boolean => {
  try {
    mkdirSync(folder)
    return true
  } catch {
    return false
  }
}
