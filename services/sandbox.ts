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

/**
 * Return example requests to paste into a terminal: set the key, create a location and a tariff, send a record, calculate an
 * instant cost, and read the cost of the day.
 */
const requests = (baseUrl: string, key: string): string => `
  KEY=${key}

  LOCATION=$(curl -s ${baseUrl}/locations -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{
    "postal_address": {"city": "Berlin", "country_code": "DE"}}' | sed 's/.*"id":"\\(loc_[^"]*\\)".*/\\1/'); echo $LOCATION

  curl -s ${baseUrl}/tariffs -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{
    "location_id": "'$LOCATION'", "direction": "IMPORT", "type": "COMMODITY", "display_name": "Day and night", "schedule": [
      {"months": ["All"], "days_and_hours": [{"days": ["All"], "hours": [
        {"valid_from": "06:00:00", "valid_to": "22:00:00", "rate": [{"fixed": 0.32}]},
        {"valid_from": "22:00:00", "valid_to": "06:00:00", "rate": [{"fixed": 0.21}]}]}]}]}'; echo

  curl -s -X PUT ${baseUrl}/meters/interval -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '[
    {"location_id": "'$LOCATION'", "units": "KWH", "value": 7.4, "start_time": "2026-01-15T21:00:00+01:00", "end_time": "2026-01-15T23:00:00+01:00"}]'; echo

  curl -s ${baseUrl}/costs/instant -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{
    "location_id": "'$LOCATION'", "units": "KW", "value": 11, "start_time": "2026-01-15T05:30:00+01:00", "end_time": "2026-01-15T06:30:00+01:00"}'; echo

  sleep 1; curl -s "${baseUrl}/costs/interval/$LOCATION" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{
    "start_time": "2026-01-15T00:00:00+01:00", "end_time": "2026-01-16T00:00:00+01:00"}'; echo
`

/** Addresses of a service that has started. */
export type StartedService = {
  readonly baseUrl: string
  readonly metricsUrl: string
  /** Null if the sandbox file was removed. */
  readonly sandbox: Sandbox | null
  /**
   * True if the welcome text shows the keys.
   * With an external PostgreSQL it does not, because output is often collected there.
   */
  readonly isFirstStart: boolean
}

/** Return the welcome text with addresses and first steps. The keys are shown at the first start only. */
export const welcome = (system: StartedService, dataFolder: string, startupMs: number): string => {
  const { baseUrl, metricsUrl, sandbox, isFirstStart } = system
  const head = `\nWattledger is ready on ${baseUrl} (${(startupMs / 1000).toFixed(1)} s)\n`
  const addresses = [
    `  docs       ${baseUrl}/docs\n`,
    `  console    ${baseUrl}/console\n`,
    `  metrics    ${metricsUrl}\n`,
    `  data       ${dataFolder}\n`,
  ].join('')
  if (sandbox === null) return `${head}${addresses}\n`
  const account = `  account    ${sandbox.account_id}\n`
  if (!isFirstStart) return `${head}${addresses}${account}  keys       ${dataFolder}/sandbox.json\n\n`
  const keys = [
    `  live key   ${sandbox.live_key}\n`,
    `  test key   ${sandbox.test_key}\n`,
    `  all keys   ${dataFolder}/sandbox.json (readable by you only)\n`,
  ].join('')
  const steps = requests(baseUrl, sandbox.test_key)
  return `${head}${addresses}${account}${keys}\nFirst steps. Paste these requests into another terminal:\n${steps}\n`
}
