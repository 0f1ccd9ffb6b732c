import { trimEnd } from '../domain/trim-end.ts'
import { readSandbox } from '../platform/access/sandbox-file.ts'
import { readConfig } from '../platform/config/config.ts'
import { apiKeyMode } from '../platform/ids/new-id.ts'
import { CommandError, type CommandInput, type CommandOption, UsageError } from './command.ts'

/** Where a system answers, and whose test mode is used. */
export type ServiceTarget = { readonly baseUrl: string; readonly account: string; readonly key: string }

/** The options that name a target. */
export const targetOptions: Readonly<Record<string, CommandOption>> = {
  'base-url': { value: 'URL', summary: 'Where the system answers.' },
  account: { value: 'ACCOUNT', summary: 'The account to use; goes with --key.' },
  key: { value: 'KEY', summary: 'A test key of that account with scope all.' },
}

/** Read an address. Throws `UsageError` for what is none. */
export const readBaseUrl = (text: string): string => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new UsageError(`--base-url is an address such as http://127.0.0.1:8080, not "${text}"`)
  }
  return trimEnd(text, '/')
}

/**
 * Read what the options name, completed from the sandbox file of the data folder.
 * Throws `UsageError` for options that cannot be used, a live key among them; `CommandError` where neither options nor file tell enough.
 */
export const readTarget = ({ options, variables }: Pick<CommandInput, 'options' | 'variables'>): ServiceTarget => {
  const { dataFolder } = readConfig(variables)
  const { account, key, 'base-url': baseUrl } = options
  if ((account === undefined) !== (key === undefined)) throw new UsageError('--account and --key go together')
  if (key !== undefined && apiKeyMode(key)?.liveMode !== false) {
    throw new UsageError('--key is a test key (sk_test_…): records are written with it, so it must not be a live one')
  }
  const sandbox = readSandbox(dataFolder)
  if (sandbox === null && (account === undefined || baseUrl === undefined)) {
    throw new CommandError(
      `there is no ${dataFolder}/sandbox.json; start the service once, name its folder with WATTLEDGER_DATA_DIR, or give --base-url, --account and --key`,
    )
  }
  return {
    baseUrl: readBaseUrl(baseUrl ?? sandbox?.base_url ?? ''),
    account: account ?? sandbox?.account_id ?? '',
    key: key ?? sandbox?.test_key ?? '',
  }
}
