import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeInstant } from '../../domain/instant.ts'
import { loadSecrets, type Secret } from '../../platform/access/secrets.ts'
import type { Database } from '../../platform/postgres/database.ts'
import {
  type ApiKeyScope,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  type StoredApiKey,
} from '../../platform/postgres/registry/api-keys.ts'
import { confirmSecret } from '../../platform/postgres/secret-fingerprints.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import { auditKey } from '../audit.ts'
import { type Command, CommandError, success, UsageError } from '../command.ts'
import { type DatabaseAccess, withDatabase } from '../open-database.ts'
import { columns, table } from '../table.ts'
import { findAccount } from './account-commands.ts'

const scopes: readonly ApiKeyScope[] = ['read', 'metering', 'all']
const maxDescriptionLength = 255

const modeOf = ({ liveMode }: Pick<StoredApiKey, 'liveMode'>): string => (liveMode ? 'live' : 'test')

const toJson = (key: StoredApiKey) => ({
  id: key.id,
  object: 'api_key',
  account_id: key.accountId,
  live_mode: key.liveMode,
  scope: key.scope,
  last4: key.last4,
  description: key.description,
  time_created: writeInstant(key.createdAt),
  time_revoked: key.revokedAt === null ? null : writeInstant(key.revokedAt),
})

/**
 * Return the secret that the service hashes keys with.
 * It is created here only if the service would create it at its next start.
 * Throws `Failure` `secret_changed` for another secret: a key that is hashed with it would never work.
 */
export const readHashSecret = async (
  { config, isOwnServer, at }: DatabaseAccess,
  database: Database,
): Promise<Secret> => {
  const isSecretKnown = config.secret !== null || existsSync(join(config.dataFolder, 'secrets.json'))
  if (!isSecretKnown && !isOwnServer) {
    throw new CommandError('The secret of the service is unknown. Set WATTLEDGER_SECRET to the value of the service.')
  }
  const loaded = loadSecrets(config.dataFolder, config)
  const { secret } = loaded.value
  await confirmSecret(database, 'secret', { ...loaded, secret, at })
  return secret
}

const readDescription = (text: string | undefined): string | null => {
  if (text !== undefined && [...text].length > maxDescriptionLength) {
    throw new UsageError(`--description must have at most ${maxDescriptionLength} characters.`)
  }
  return text ?? null
}

const createCommand: Command = {
  name: 'keys create',
  operands: ['ACCOUNT'],
  summary: 'Create an API key and show its secret once.',
  details: ['Send the secret as "Authorization: Bearer". The service stores only its hash.'],
  options: {
    mode: { value: 'MODE', summary: 'Mode of the key.', choices: ['live', 'test'], isRequired: true },
    scope: { value: 'SCOPE', summary: 'Scope of the key. Default: all.', choices: scopes },
    description: { value: 'TEXT', summary: 'Description of the key.' },
  },
  run: input => {
    const { options } = input
    const scope = scopes.find(known => known === options['scope']) ?? 'all'
    const draft = { scope, description: readDescription(options['description']) }
    return withDatabase(input, { mayCreate: false }, async (database, access) => {
      const [id = ''] = input.operands
      const account = await findAccount(database.operator, id)
      const serverSecret = await readHashSecret(access, database)
      const { at } = access
      const tenant = { accountId: account.id, liveMode: options['mode'] === 'live' }
      const { apiKey, secret } = await withOperator(database, async transaction => {
        const created = await createApiKey(transaction.query, tenant, draft, serverSecret, at)
        await auditKey(transaction, tenant, {
          action: 'api_key.create',
          objectId: created.apiKey.id,
          detail: toJson(created.apiKey),
          at,
        })
        return created
      })
      const rows = [
        ['key', apiKey.id],
        ['mode', modeOf(apiKey)],
        ['scope', apiKey.scope],
        ['secret', secret],
      ]
      return success(`${columns(rows)}\n\nSave the secret now. It cannot be shown again.`, {
        ...toJson(apiKey),
        secret,
      })
    })
  },
}

const listAllKeys = async ({ operator }: Database, accountId: string): Promise<readonly StoredApiKey[]> => {
  await findAccount(operator, accountId)
  const live = await listApiKeys(operator, { accountId, liveMode: true })
  return [...live, ...(await listApiKeys(operator, { accountId, liveMode: false }))]
}

const listCommand: Command = {
  name: 'keys list',
  operands: ['ACCOUNT'],
  summary: 'List the API keys of an account.',
  details: [
    'Live keys first, newest first, including revoked keys. The last four characters of each secret are shown.',
  ],
  options: {},
  run: input =>
    withDatabase(input, { mayCreate: false }, async database => {
      const keys = await listAllKeys(database, input.operands[0] ?? '')
      const rows = keys.map(key => [
        key.id,
        modeOf(key),
        key.scope,
        `…${key.last4}`,
        writeInstant(key.createdAt).slice(0, 10),
        key.revokedAt === null ? 'active' : `revoked ${writeInstant(key.revokedAt).slice(0, 10)}`,
        key.description ?? '',
      ])
      const columnNames = ['key', 'mode', 'scope', 'ends in', 'created', 'status', 'description']
      return success(
        table(columnNames, rows, 'No keys yet. Create one with "npx wattledger keys create".'),
        keys.map(toJson),
      )
    }),
}

const revokeCommand: Command = {
  name: 'keys revoke',
  operands: ['ACCOUNT', 'KEY_ID'],
  summary: 'Revoke an API key.',
  details: ['Logins with the key fail at once. Its tokens expire within 60 s. A revoked key cannot be restored.'],
  options: {},
  run: input =>
    withDatabase(input, { mayCreate: false }, async (database, { at }) => {
      const [accountId = '', keyId = ''] = input.operands
      const found = (await listAllKeys(database, accountId)).find(({ id }) => id === keyId)
      if (found === undefined) {
        throw new CommandError(`Account ${accountId} has no key ${keyId}. Run "npx wattledger keys list ${accountId}".`)
      }
      const tenant = { accountId, liveMode: found.liveMode }
      const revoked = await withOperator(database, async transaction => {
        const changed = await revokeApiKey(transaction.query, tenant, keyId, at)
        if (changed === null) return found
        await auditKey(transaction, tenant, {
          action: 'api_key.revoke',
          objectId: keyId,
          detail: toJson(changed),
          at,
        })
        return changed
      })
      const since = revoked.revokedAt === null ? '' : ` since ${writeInstant(revoked.revokedAt)}`
      return success(`${keyId} (${modeOf(revoked)}) is revoked${since}.`, toJson(revoked))
    }),
}

export const keyCommands: readonly Command[] = [createCommand, listCommand, revokeCommand]
