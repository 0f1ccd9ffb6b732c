import { trimEnd } from '../domain/trim-end.ts'
import { readSandbox } from '../platform/access/sandbox-file.ts'
import { readConfig } from '../platform/config/config.ts'
import { apiKeyMode } from '../platform/ids/new-id.ts'
import { CommandError, type CommandInput, type CommandOption, UsageError } from './command.ts'

/** Address of a service, and the account and key to log in with. */
export type ServiceTarget = { readonly baseUrl: string; readonly account: string; readonly key: string }

/** Options of a target. */
export const targetOptions: Readonly<Record<string, CommandOption>> = {
  'base-url': { value: 'URL', summary: 'Address of the service.' },
  account: { value: 'ACCOUNT', summary: 'Account to use. Requires --key.' },
  key: { value: 'KEY', summary: 'Test key of the account, with scope all.' },
}

/** Read an address. Throws `UsageError` if it is not an HTTP address. */
export const readBaseUrl = (text: string): string => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new UsageError(`--base-url must be an address such as http://127.0.0.1:8080, not "${text}".`)
  }
  return trimEnd(text, '/')
}

/**
 * Read the target from the options. The sandbox file of the data folder completes missing options.
 * Throws `UsageError` for invalid options and live keys, `CommandError` if account or address are unknown.
 */
export const readTarget = ({ options, variables }: Pick<CommandInput, 'options' | 'variables'>): ServiceTarget => {
  const { dataFolder } = readConfig(variables)
  const { account, key, 'base-url': baseUrl } = options
  if ((account === undefined) !== (key === undefined))
    throw new UsageError('--account requires --key, and --key requires --account.')
  if (key !== undefined && apiKeyMode(key)?.liveMode !== false) {
    throw new UsageError('--key must be a test key (sk_test_…), because the command writes records.')
  }
  const sandbox = readSandbox(dataFolder)
  if (sandbox === null && (account === undefined || baseUrl === undefined)) {
    throw new CommandError(
      [
        `There is no ${dataFolder}/sandbox.json. Start the service once, set WATTLEDGER_DATA_DIR to its data folder,`,
        'or give --base-url, --account and --key.',
      ].join(' '),
    )
  }
  return {
    baseUrl: readBaseUrl(baseUrl ?? sandbox?.base_url ?? ''),
    account: account ?? sandbox?.account_id ?? '',
    key: key ?? sandbox?.test_key ?? '',
  }
}

/** Read the target of a command that only reads: live keys are allowed. Throws as `readTarget` does. */
export const readAnyTarget = (input: Pick<CommandInput, 'options' | 'variables'>): ServiceTarget => {
  const { account, key, 'base-url': baseUrl } = input.options
  const isLive = key !== undefined && apiKeyMode(key)?.liveMode === true
  if (!isLive || account === undefined || baseUrl === undefined) return readTarget(input)
  return { baseUrl: readBaseUrl(baseUrl), account, key }
}
