import { apiVersionDates, apiVersions } from '../../contract/api-version.ts'
import { type AccountBrandName, accountBrandToWire, readAccountBrand } from '../../contract/registry/account-brand.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { AccountBrand, StoredAccount } from '../../domain/registry/account.ts'
import type { Database } from '../../platform/postgres/database.ts'
import {
  type AccountDraft,
  apiVersionOf,
  createAccount,
  listAccounts,
  retrieveAccount,
  updateAccount,
} from '../../platform/postgres/registry/accounts.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import { auditAccount } from '../audit.ts'
import {
  type Command,
  CommandError,
  type CommandInput,
  type CommandOption,
  type CommandOutcome,
  success,
  UsageError,
} from '../command.ts'
import { withDatabase } from '../open-database.ts'
import { columns, table } from '../table.ts'

const maxNameLength = 255

const nameOption: CommandOption = { value: 'NAME', summary: 'Display name of the account.' }
const versionOption: CommandOption = {
  value: 'VERSION',
  summary: 'Default API version of requests without the Api-Version header.',
  choices: apiVersions.map(apiVersion => apiVersionDates[apiVersion]),
}
const rateOption: CommandOption = {
  value: 'N|none',
  summary: 'Requests per second in each mode. none: limit of the service.',
}

const pageUrlOption = (what: string): CommandOption => ({
  value: 'URL|none',
  summary: `${what}, https. The pages of Connect show it. none: remove it.`,
})
const brandOptions: Readonly<Record<string, CommandOption>> = {
  'privacy-url': pageUrlOption('Address of the privacy notice'),
  'terms-url': pageUrlOption('Address of the terms of use'),
  'logo-url': pageUrlOption('Address of the logo'),
  'brand-color': {
    value: 'COLOR|none',
    summary: 'Colour of buttons and links on the pages of Connect, such as #0a5c3e. none: remove it.',
  },
}

const toJson = (account: StoredAccount) => ({
  id: account.id,
  object: 'account',
  display_name: account.displayName,
  default_version: apiVersionDates[account.defaultApiVersion],
  requests_per_second: account.requestsPerSecond,
  ...accountBrandToWire(account),
  time_disabled: account.disabledAt === null ? null : writeInstant(account.disabledAt),
  time_created: writeInstant(account.createdAt),
})

const statusText = ({ disabledAt }: StoredAccount): string =>
  disabledAt === null ? 'enabled' : `disabled since ${writeInstant(disabledAt)}`

const rateLimitText = ({ requestsPerSecond }: StoredAccount): string =>
  requestsPerSecond === null ? 'none' : String(requestsPerSecond)

const accountOutcome = (account: StoredAccount): CommandOutcome =>
  success(
    columns([
      ['account', account.id],
      ['name', account.displayName],
      ['version', apiVersionDates[account.defaultApiVersion]],
      ['rate limit', rateLimitText(account)],
      ['privacy notice', account.privacyUrl ?? 'none'],
      ['terms of use', account.termsUrl ?? 'none'],
      ['logo', account.logoUrl ?? 'none'],
      ['colour', account.brandColor ?? 'none'],
      ['status', statusText(account)],
      ['created', writeInstant(account.createdAt)],
    ]),
    toJson(account),
  )

/** Find an account. Throws `CommandError` if it does not exist. */
export const findAccount = async (query: Database['operator'], id: string): Promise<StoredAccount> => {
  const account = await retrieveAccount(query, id)
  if (account === null) throw new CommandError(`There is no account ${id}. Run "npx wattledger account list".`)
  return account
}

const readName = (name: string): string => {
  if (name.trim() === '' || [...name].length > maxNameLength)
    throw new UsageError(`--name must have 1 to ${maxNameLength} characters.`)
  return name
}

const readRate = (text: string): number | null => {
  if (text === 'none') return null
  const rate = Number(text)
  if (!/^\d+$/.test(text) || rate < 1 || rate > 1_000_000)
    throw new UsageError('--rate-limit must be a whole number from 1 to 1000000, or none.')
  return rate
}

const readBrandMember = (
  { options }: CommandInput,
  name: AccountBrandName,
  option: string,
): string | null | undefined => {
  const text = options[option]
  if (text === undefined) return undefined
  const read = readAccountBrand(name, text === 'none' ? '' : text)
  if (!read.ok) throw new UsageError(read.refusal.message.replace(name, `--${option}`))
  return read.value
}

/** Read the brand from the options. */
const readBrand = (input: CommandInput): Partial<AccountBrand> => {
  const privacyUrl = readBrandMember(input, 'privacy_url', 'privacy-url')
  const termsUrl = readBrandMember(input, 'terms_url', 'terms-url')
  const logoUrl = readBrandMember(input, 'logo_url', 'logo-url')
  const brandColor = readBrandMember(input, 'brand_color', 'brand-color')
  return {
    ...(privacyUrl === undefined ? {} : { privacyUrl }),
    ...(termsUrl === undefined ? {} : { termsUrl }),
    ...(logoUrl === undefined ? {} : { logoUrl }),
    ...(brandColor === undefined ? {} : { brandColor }),
  }
}

/** Read the settings from the options. */
const readSettings = ({ options }: CommandInput): Partial<AccountDraft> => ({
  ...(options['name'] === undefined ? {} : { displayName: readName(options['name']) }),
  ...(options['version'] === undefined ? {} : { defaultApiVersion: apiVersionOf(options['version']) }),
  ...(options['rate-limit'] === undefined ? {} : { requestsPerSecond: readRate(options['rate-limit']) }),
})

const changeAccount = (
  input: CommandInput,
  action: string,
  changeOf: (account: StoredAccount, at: number) => Parameters<typeof updateAccount>[2],
): Promise<CommandOutcome> =>
  withDatabase(input, { mayCreate: false }, (database, { at }) =>
    withOperator(database, async transaction => {
      const [id = ''] = input.operands
      const before = await findAccount(transaction.query, id)
      const after = (await updateAccount(transaction.query, id, changeOf(before, at))) ?? before
      const detail = { before: toJson(before), after: toJson(after) }
      if (JSON.stringify(detail.before) !== JSON.stringify(detail.after)) {
        await auditAccount(transaction, id, { action, objectId: id, detail, at })
      }
      return accountOutcome(after)
    }),
  )

const createCommand: Command = {
  name: 'account create',
  operands: [],
  summary: 'Create an account.',
  details: ['Prints the id of the account. Create keys with "npx wattledger keys create".'],
  options: { name: { ...nameOption, isRequired: true }, version: versionOption },
  run: input => {
    const draft: AccountDraft = {
      displayName: '',
      defaultApiVersion: 'current',
      requestsPerSecond: null,
      ...readSettings(input),
    }
    return withDatabase(input, { mayCreate: true }, (database, { at }) =>
      withOperator(database, async transaction => {
        const account = await createAccount(transaction.query, draft, at)
        await auditAccount(transaction, account.id, {
          action: 'account.create',
          objectId: account.id,
          detail: toJson(account),
          at,
        })
        return accountOutcome(account)
      }),
    )
  },
}

const listCommand: Command = {
  name: 'account list',
  operands: [],
  summary: 'List all accounts, newest first.',
  details: ['The list includes disabled accounts.'],
  options: {},
  run: input =>
    withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      const accounts = await listAccounts(operator)
      const rows = accounts.map(account => [
        account.id,
        apiVersionDates[account.defaultApiVersion],
        rateLimitText(account),
        account.disabledAt === null ? 'enabled' : 'disabled',
        writeInstant(account.createdAt).slice(0, 10),
        account.displayName,
      ])
      return success(
        table(
          ['account', 'version', 'rate limit', 'status', 'created', 'name'],
          rows,
          'No accounts yet. Create one with "npx wattledger account create".',
        ),
        accounts.map(toJson),
      )
    }),
}

const showCommand: Command = {
  name: 'account show',
  operands: ['ACCOUNT'],
  summary: 'Show an account.',
  details: ['Shows settings and status. List the keys with "npx wattledger keys list".'],
  options: {},
  run: input =>
    withDatabase(input, { mayCreate: false }, async ({ operator }) =>
      accountOutcome(await findAccount(operator, input.operands[0] ?? '')),
    ),
}

const setCommand: Command = {
  name: 'account set',
  operands: ['ACCOUNT'],
  summary: 'Change the settings of an account.',
  details: ['Other settings do not change. A new API version applies after at most 30 s.'],
  options: { name: nameOption, version: versionOption, 'rate-limit': rateOption, ...brandOptions },
  run: async input => {
    const changes = { ...readSettings(input), ...readBrand(input) }
    if (Object.keys(changes).length === 0) throw new UsageError('At least one setting is required.')
    return changeAccount(input, 'account.update', () => changes)
  },
}

const disableCommand: Command = {
  name: 'account disable',
  operands: ['ACCOUNT'],
  summary: 'Disable an account.',
  details: [
    'Within 60 s all its requests are refused with account_disabled. Its data are retained.',
    'Bearer tokens and console sessions end for good. Keys work again after "account enable".',
  ],
  options: {},
  run: input => changeAccount(input, 'account.disable', ({ disabledAt }, at) => ({ disabledAt: disabledAt ?? at })),
}

const enableCommand: Command = {
  name: 'account enable',
  operands: ['ACCOUNT'],
  summary: 'Enable an account.',
  details: ['The keys of the account work again.'],
  options: {},
  run: input => changeAccount(input, 'account.enable', () => ({ disabledAt: null })),
}

export const accountCommands: readonly Command[] = [
  createCommand,
  listCommand,
  showCommand,
  setCommand,
  disableCommand,
  enableCommand,
]
