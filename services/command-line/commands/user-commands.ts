import { linkPath, userToWire } from '../../contract/users/user.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { StoredAccount } from '../../domain/registry/account.ts'
import { normalizeAddress, type User } from '../../domain/user/user.ts'
import { readSandbox } from '../../platform/access/sandbox-file.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { serviceAddress } from '../../platform/config/service-address.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { listAccounts } from '../../platform/postgres/registry/accounts.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { changeTenant, type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { createUserLink } from '../../platform/postgres/users/user-links.ts'
import { createUser, findUser, listUsers } from '../../platform/postgres/users/users.ts'
import {
  type Command,
  CommandError,
  type CommandInput,
  type CommandOption,
  type CommandOutcome,
  success,
  UsageError,
} from '../command.ts'
import { type DatabaseAccess, withDatabase } from '../open-database.ts'
import { columns, table } from '../table.ts'
import { findAccount } from './account-commands.ts'
import { readHashSecret } from './key-commands.ts'

const pageSize = 100

const accountOption: CommandOption = {
  value: 'ACCOUNT',
  summary: 'Account of the users. Required if there are several accounts.',
}
const modeOption: CommandOption = {
  value: 'MODE',
  summary: 'Mode of the users. A user of live mode may also enter test mode. Default: live.',
  choices: ['live', 'test'],
}

/** Return the named account, or the only one. Throws `CommandError` if several accounts exist and none is named. */
const chooseAccount = async ({ operator }: Database, id: string | undefined): Promise<StoredAccount> => {
  if (id !== undefined) return findAccount(operator, id)
  const accounts = await listAccounts(operator)
  const [only] = accounts
  if (only === undefined) throw new CommandError('There is no account. Run "npx wattledger account create".')
  if (accounts.length > 1)
    throw new CommandError('There are several accounts. Name one with --account; see "npx wattledger account list".')
  return only
}

/** Create a link and its audit entry. The text shows the link once. */
const showLink = async (
  transaction: TenantTransaction,
  user: User,
  action: string,
  { config, secret, at }: Pick<DatabaseAccess, 'config' | 'at'> & { readonly secret: Secret },
): Promise<CommandOutcome> => {
  const { token, purpose, expiresAt } = await createUserLink(transaction, user, secret, at)
  const detail = userToWire(user)
  await appendAudit(transaction.query, transaction, { actor: 'operator', action, objectId: user.id, detail, at })
  // The file has the address of the running service, which may have other settings than this command.
  const address = config.publicUrl ?? readSandbox(config.dataFolder)?.base_url
  const link = (address ?? serviceAddress(config, config.port)) + linkPath(purpose, token)
  const rows = [
    ['user', user.id],
    ['address', user.address],
    ['role', user.role],
    ['link', link],
    ['valid until', writeInstant(expiresAt)],
  ]
  const advice = 'Send the link to the user over a safe channel. It works once and cannot be shown again.'
  return success(`${columns(rows)}\n\n${advice}`, { ...detail, link, link_expires: writeInstant(expiresAt) })
}

const addOwnerCommand: Command = {
  name: 'users add-owner',
  operands: ['ADDRESS'],
  summary: 'Invite an owner and show the link of the invitation once.',
  details: [
    'Creates the first user of an account. Owners invite the other users in the console or with POST /users.',
    'The link begins with WATTLEDGER_PUBLIC_URL. Without it, it begins with the address of the last start.',
    'The service sends no mail.',
  ],
  options: { account: accountOption, mode: modeOption },
  run: input => {
    const address = normalizeAddress(input.operands[0] ?? '')
    if (address === null) throw new UsageError(`"${input.operands[0]}" is not an e-mail address.`)
    return withDatabase(input, { mayCreate: false }, async (database, access) => {
      const account = await chooseAccount(database, input.options['account'])
      const { config, at } = access
      const secret = await readHashSecret(access, database)
      const tenant = { accountId: account.id, liveMode: input.options['mode'] !== 'test' }
      const outcome = await changeTenant(database, tenant, async transaction => {
        const created = await createUser(transaction, { address, role: 'owner' }, at)
        if (!created.ok) return created
        return { ok: true, value: await showLink(transaction, created.value, 'user.create', { config, secret, at }) }
      })
      if (!outcome.ok) throw new CommandError(outcome.refusal.message)
      return outcome.value
    })
  },
}

const listAll = async (database: Database, tenant: { accountId: string; liveMode: boolean }): Promise<User[]> => {
  const users: User[] = []
  for (let hasMore = true; hasMore; ) {
    const paging = { limit: pageSize, startingAfter: users.at(-1)?.id ?? null, endingBefore: null }
    const page = await withTenant(database, tenant, transaction => listUsers(transaction, paging))
    if (!page.ok) throw new CommandError(page.refusal.message)
    users.push(...page.value.items)
    hasMore = page.value.hasMore
  }
  return users
}

const listCommand: Command = {
  name: 'users list',
  operands: [],
  summary: 'List the users of the console.',
  details: ['Newest first. A removed user is not listed.'],
  options: { account: accountOption, mode: modeOption },
  run: input =>
    withDatabase(input, { mayCreate: false }, async database => {
      const account = await chooseAccount(database, input.options['account'])
      const users = await listAll(database, { accountId: account.id, liveMode: input.options['mode'] !== 'test' })
      const rows = users.map(user => [
        user.id,
        user.address,
        user.role,
        user.acceptedAt === null ? 'invited' : 'active',
        writeInstant(user.createdAt).slice(0, 10),
      ])
      const none = 'No users yet. Create an owner with "npx wattledger users add-owner".'
      return success(table(['user', 'address', 'role', 'status', 'created'], rows, none), users.map(userToWire))
    }),
}

const resetUser = async (input: CommandInput, database: Database, access: DatabaseAccess): Promise<CommandOutcome> => {
  const [id = ''] = input.operands
  const user = await findUser(database.operator, id)
  if (user === null) throw new CommandError(`There is no user ${id}. Run "npx wattledger users list".`)
  const secret = await readHashSecret(access, database)
  return withTenant(database, { accountId: user.accountId, liveMode: user.liveMode }, transaction =>
    showLink(transaction, user, 'user.create_link', { ...access, secret }),
  )
}

const resetCommand: Command = {
  name: 'users reset',
  operands: ['USER_ID'],
  summary: 'Create a new link for a user and show it once.',
  details: ['The link sets a new password. For a user who is only invited, it is a new invitation.'],
  options: {},
  run: input => withDatabase(input, { mayCreate: false }, (database, access) => resetUser(input, database, access)),
}

export const userCommands: readonly Command[] = [addOwnerCommand, listCommand, resetCommand]
