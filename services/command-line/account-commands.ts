import { type AccountPageName, accountPagesToWire, readAccountPage } from '../contract/account-pages.ts'
import { layouts, versionOf } from '../contract/layout.ts'
import { writeInstant } from '../domain/instant.ts'
import {
  type AccountDraft,
  type AccountPages,
  createAccount,
  layoutOf,
  listAccounts,
  retrieveAccount,
  type StoredAccount,
  updateAccount,
} from '../platform/postgres/accounts.ts'
import type { Database } from '../platform/postgres/database.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import { auditAccount } from './audit.ts'
import { type Command, CommandError, done, type Input, type Option, type Outcome, UsageError } from './command.ts'
import { withDatabase } from './open-database.ts'
import { columns, table } from './table.ts'

const longestName = 255

const nameOption: Option = { value: 'NAME', summary: 'How the account is called, for people.' }
const versionOption: Option = {
  value: 'VERSION',
  summary: 'Api-Version of requests that name none.',
  choices: layouts.map(layout => versionOf[layout]),
}
const rateOption: Option = { value: 'N|none', summary: 'Requests a second in each mode; none: what the installation sets.' }

const pageOption = (what: string): Option => ({
  value: 'URL|none',
  summary: `${what}, https; shown by the login of a supplier in Connect. none: remove it.`,
})
const pageOptions: Readonly<Record<string, Option>> = {
  'privacy-url': pageOption('Address of the privacy notice'),
  'terms-url': pageOption('Address of the terms of use'),
  'logo-url': pageOption('Address of the logo'),
}

const toJson = (account: StoredAccount) => ({
  id: account.id,
  object: 'account',
  display_name: account.displayName,
  default_version: versionOf[account.defaultLayout],
  requests_per_second: account.requestsPerSecond,
  ...accountPagesToWire(account),
  time_disabled: account.disabledAt === null ? null : writeInstant(account.disabledAt),
  time_created: writeInstant(account.createdAt),
})

const stateOf = ({ disabledAt }: StoredAccount): string => (disabledAt === null ? 'enabled' : `disabled since ${writeInstant(disabledAt)}`)

const rateOf = ({ requestsPerSecond }: StoredAccount): string => (requestsPerSecond === null ? 'none' : String(requestsPerSecond))

const shown = (account: StoredAccount): Outcome =>
  done(
    columns([
      ['account', account.id],
      ['name', account.displayName],
      ['version', versionOf[account.defaultLayout]],
      ['rate limit', rateOf(account)],
      ['privacy notice', account.privacyUrl ?? 'none'],
      ['terms of use', account.termsUrl ?? 'none'],
      ['logo', account.logoUrl ?? 'none'],
      ['state', stateOf(account)],
      ['created', writeInstant(account.createdAt)],
    ]),
    toJson(account),
  )

/** Find an account. Throws `CommandError` where there is none. */
export const findAccount = async (query: Database['operator'], id: string): Promise<StoredAccount> => {
  const account = await retrieveAccount(query, id)
  if (account === null) throw new CommandError(`there is no account ${id}; "npx wattledger account list" shows all`)
  return account
}

const readName = (name: string): string => {
  if (name.trim() === '' || [...name].length > longestName) throw new UsageError(`--name has 1 to ${longestName} characters`)
  return name
}

const readRate = (text: string): number | null => {
  if (text === 'none') return null
  const rate = Number(text)
  if (!/^\d+$/.test(text) || rate < 1 || rate > 1_000_000) throw new UsageError('--rate-limit is a whole number from 1 to 1000000, or none')
  return rate
}

const readPage = ({ options }: Input, name: AccountPageName, option: string): string | null | undefined => {
  const text = options[option]
  if (text === undefined) return undefined
  const read = readAccountPage(name, text === 'none' ? '' : text)
  if (!read.ok) throw new UsageError(read.refusal.message.replace(name, `--${option}`))
  return read.value
}

/** The addresses that the options name. */
const readPages = (input: Input): Partial<AccountPages> => {
  const privacyUrl = readPage(input, 'privacy_url', 'privacy-url')
  const termsUrl = readPage(input, 'terms_url', 'terms-url')
  const logoUrl = readPage(input, 'logo_url', 'logo-url')
  return {
    ...(privacyUrl === undefined ? {} : { privacyUrl }),
    ...(termsUrl === undefined ? {} : { termsUrl }),
    ...(logoUrl === undefined ? {} : { logoUrl }),
  }
}

/** The settings that the options name. */
const readChange = ({ options }: Input): Partial<AccountDraft> => ({
  ...(options['name'] === undefined ? {} : { displayName: readName(options['name']) }),
  ...(options['version'] === undefined ? {} : { defaultLayout: layoutOf(options['version']) }),
  ...(options['rate-limit'] === undefined ? {} : { requestsPerSecond: readRate(options['rate-limit']) }),
})

const change = (
  input: Input,
  action: string,
  changeOf: (account: StoredAccount) => Parameters<typeof updateAccount>[2],
): Promise<Outcome> =>
  withDatabase(input, { mayMake: false }, database =>
    withOperator(database, async transaction => {
      const [id = ''] = input.operands
      const before = await findAccount(transaction.query, id)
      const after = (await updateAccount(transaction.query, id, changeOf(before))) ?? before
      const detail = { before: toJson(before), after: toJson(after) }
      if (JSON.stringify(detail.before) !== JSON.stringify(detail.after)) {
        await auditAccount(transaction, id, { action, objectId: id, detail, at: input.at })
      }
      return shown(after)
    }),
  )

const create: Command = {
  name: 'account create',
  operands: [],
  summary: 'Create an account.',
  details: 'Prints the id that its keys and logins name. Make keys with "npx wattledger keys create".',
  options: { name: { ...nameOption, required: true }, version: versionOption },
  run: input => {
    const draft: AccountDraft = { displayName: '', defaultLayout: 'current', requestsPerSecond: null, ...readChange(input) }
    return withDatabase(input, { mayMake: true }, database =>
      withOperator(database, async transaction => {
        const account = await createAccount(transaction.query, draft, input.at)
        await auditAccount(transaction, account.id, {
          action: 'account.create',
          objectId: account.id,
          detail: toJson(account),
          at: input.at,
        })
        return shown(account)
      }),
    )
  },
}

const list: Command = {
  name: 'account list',
  operands: [],
  summary: 'List all accounts, newest first.',
  details: 'Disabled accounts are listed too.',
  options: {},
  run: input =>
    withDatabase(input, { mayMake: false }, async ({ operator }) => {
      const accounts = await listAccounts(operator)
      const rows = accounts.map(account => [
        account.id,
        versionOf[account.defaultLayout],
        rateOf(account),
        account.disabledAt === null ? 'enabled' : 'disabled',
        writeInstant(account.createdAt).slice(0, 10),
        account.displayName,
      ])
      return done(
        table(['account', 'version', 'rate limit', 'state', 'created', 'name'], rows, 'There is no account.'),
        accounts.map(toJson),
      )
    }),
}

const show: Command = {
  name: 'account show',
  operands: ['ACCOUNT'],
  summary: 'Show an account.',
  details: 'Its settings and its state; its keys are shown by "npx wattledger keys list".',
  options: {},
  run: input =>
    withDatabase(input, { mayMake: false }, async ({ operator }) => shown(await findAccount(operator, input.operands[0] ?? ''))),
}

const set: Command = {
  name: 'account set',
  operands: ['ACCOUNT'],
  summary: "Change an account's settings.",
  details: 'What is not named stays as it is. A new version holds for requests that name none, once their key is read again (30 s).',
  options: { name: nameOption, version: versionOption, 'rate-limit': rateOption, ...pageOptions },
  run: async input => {
    const named = { ...readChange(input), ...readPages(input) }
    if (Object.keys(named).length === 0) throw new UsageError('name at least one setting to change')
    return change(input, 'account.update', () => named)
  },
}

const disable: Command = {
  name: 'account disable',
  operands: ['ACCOUNT'],
  summary: 'Shut an account out.',
  details: 'All its requests are refused with account_disabled within 60 s. Nothing of it is removed.',
  options: {},
  run: input => change(input, 'account.disable', ({ disabledAt }) => ({ disabledAt: disabledAt ?? input.at })),
}

const enable: Command = {
  name: 'account enable',
  operands: ['ACCOUNT'],
  summary: 'Let a disabled account in again.',
  details: 'Its keys work as before.',
  options: {},
  run: input => change(input, 'account.enable', () => ({ disabledAt: null })),
}

export const accountCommands: readonly Command[] = [create, list, show, set, disable, enable]
