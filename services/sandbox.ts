import { readSandbox, type Sandbox, sandboxFile } from './platform/access/sandbox-file.ts'
import { type Secret, writePrivateFile } from './platform/access/secrets.ts'
import type { Database } from './platform/postgres/database.ts'
import {
  createAccount,
  listAccounts,
  retrieveAccount,
  waitForFirstAccount,
} from './platform/postgres/registry/accounts.ts'
import { createApiKey } from './platform/postgres/registry/api-keys.ts'
import { appendAudit } from './platform/postgres/registry/audit-log.ts'
import { withOperator } from './platform/postgres/transaction.ts'

/**
 * Create the sandbox account at the first start. Later starts update the address in its file.
 * The file is written before the account is committed.
 * After a crash between the two, the next start creates the account again.
 * `sandbox` is null if the file was removed, because stored keys are hashes and cannot be shown again.
 */
export const prepareSandbox = async (
  database: Database,
  options: {
    readonly dataFolder: string
    readonly baseUrl: string
    readonly secret: Secret
    readonly operatorKey: string
    readonly at: number
  },
): Promise<{ readonly sandbox: Sandbox | null; readonly isNew: boolean }> => {
  const { dataFolder, baseUrl, operatorKey, secret, at } = options
  const stored = readSandbox(dataFolder)
  if (stored !== null && (await retrieveAccount(database.operator, stored.account_id)) !== null) {
    const sandbox = { ...stored, base_url: baseUrl, operator_key: operatorKey }
    if (stored.base_url !== baseUrl || stored.operator_key !== operatorKey)
      writePrivateFile(sandboxFile(dataFolder), sandbox)
    return { sandbox, isNew: false }
  }
  if (stored === null && (await listAccounts(database.operator)).length > 0) return { sandbox: null, isNew: false }
  const sandbox = await withOperator(database, async ({ query }) => {
    // If several processes start together, only one creates the account.
    await waitForFirstAccount(query)
    if (stored === null && (await listAccounts(query)).length > 0) return null
    const account = await createAccount(
      query,
      { displayName: 'Sandbox', defaultApiVersion: 'current', requestsPerSecond: null },
      at,
    )
    const createKey = async (liveMode: boolean) => {
      const draft = { scope: 'all', description: 'Sandbox' } as const
      const tenant = { accountId: account.id, liveMode }
      const created = await createApiKey(query, tenant, draft, secret, at)
      const { id, scope, last4, description } = created.apiKey
      await appendAudit(query, tenant, {
        actor: 'system',
        action: 'api_key.create',
        objectId: id,
        detail: { scope, last4, description },
        at,
      })
      return created.secret
    }
    const created: Sandbox = {
      base_url: baseUrl,
      account_id: account.id,
      live_key: await createKey(true),
      test_key: await createKey(false),
      operator_key: operatorKey,
    }
    writePrivateFile(sandboxFile(dataFolder), created)
    return created
  })
  return { sandbox, isNew: sandbox !== null }
}
