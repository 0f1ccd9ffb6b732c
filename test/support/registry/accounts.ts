import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { type Database, openDatabase } from '../../../services/platform/postgres/database.ts'
import { findEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { createAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import { type ApiKeyScope, createApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'

/** Open the PostgreSQL database of a running system by its data folder. */
export const openRecords = async (folder: string): Promise<Database> => {
  const address = await findEmbeddedServer(folder)
  if (address === null) throw new Error(`No PostgreSQL server runs in ${folder}.`)
  return openDatabase({ address, tenantConnections: 1, operatorConnections: 2 })
}

/** Read the secret that a system uses for signatures and hashes. */
export const secretOf = (folder: string): string => {
  const { secret } = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as { readonly secret: string }
  return secret
}

/** Create a second account with a key in each mode. Return it in the format of the sandbox. */
export const createOtherAccount = async (database: Database, folder: string, sandbox: Sandbox): Promise<Sandbox> => {
  const at = currentInstant()
  const account = await createAccount(
    database.operator,
    { displayName: 'Stranger', defaultApiVersion: 'current', requestsPerSecond: null },
    at,
  )
  const otherAccount = { ...sandbox, account_id: account.id }
  return {
    ...otherAccount,
    live_key: (await makeKey(database, folder, otherAccount, 'all', true)).key,
    test_key: (await makeKey(database, folder, otherAccount, 'all', false)).key,
  }
}

/** Create another key of an account. */
export const makeKey = async (
  { operator }: Database,
  folder: string,
  { account_id: accountId }: Pick<Sandbox, 'account_id'>,
  scope: ApiKeyScope,
  liveMode = false,
): Promise<{ readonly id: string; readonly key: string }> => {
  const draft = { scope, description: null } as const
  const { apiKey, secret } = await createApiKey(
    operator,
    { accountId, liveMode },
    draft,
    secretOf(folder),
    currentInstant(),
  )
  return { id: apiKey.id, key: secret }
}

/** Log in with a key. Return the bearer token. */
export const tokenOf = async (
  { base_url, account_id }: Pick<Sandbox, 'base_url' | 'account_id'>,
  key: string,
): Promise<string> => {
  const basic = Buffer.from(`${account_id}:${key}`).toString('base64')
  const answer = await fetch(`${base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
  if (answer.status !== 200) throw new Error(`login: ${await answer.text()}`)
  return ((await answer.json()) as { readonly bearer_token: string }).bearer_token
}
