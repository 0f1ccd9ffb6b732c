import { readFileSync } from 'node:fs'
import { CommandError, type CommandInput, type CommandOption, UsageError } from '../../../command-line/command.ts'
import { type ServiceClient, serviceClient } from '../../../command-line/service-client.ts'
import { readBaseUrl } from '../../../command-line/target.ts'
import { apiVersionDates } from '../../../contract/api-version.ts'
import { accountRetrieve } from '../../../contract/registry/account.ts'
import { readSandbox } from '../../../platform/access/sandbox-file.ts'
import { keyVariable, readConfig } from '../../../platform/config/config.ts'
import { apiKeyMode } from '../../../platform/ids/new-id.ts'

/** Options of the commands for files. The arguments never contain a key, because shells store them. */
export const fileTargetOptions: Readonly<Record<string, CommandOption>> = {
  'base-url': { value: 'URL', summary: 'Address of the service.' },
  key: { value: 'FILE', summary: `File with the API key. Default: ${keyVariable}, then sandbox.json.` },
  live: { summary: 'Use live mode. Default: the mode of the given key, else test mode.' },
}

/** Account of the key, its mode, and a client that sends the key. */
export type ImportTarget = {
  readonly client: ServiceClient
  readonly baseUrl: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly dataFolder: string
}

const readKeyFile = (file: string): string => {
  if (file.startsWith('sk_')) {
    throw new UsageError(`--key must be a file with the key. Shells store arguments; or set ${keyVariable}.`)
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandError(`${file} is not readable: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** `writes` says what the command does with a live key, which then requires --live; null if the command only reads. */
type TargetUse = { readonly parse?: (text: string) => unknown; readonly writes?: string | null }

/**
 * Read the target of a command for files, and check the key with the service. `parse` reads the JSON of answers.
 * Throws `UsageError` for a key of the other mode, `CommandError` without key or address, and `CallError`.
 */
export const openTarget = async (
  { options, variables }: Pick<CommandInput, 'options' | 'variables'>,
  { parse, writes = 'this command writes live data' }: TargetUse = {},
): Promise<ImportTarget> => {
  const { dataFolder } = readConfig(variables)
  const sandbox = readSandbox(dataFolder)
  const asksLive = options['live'] !== undefined
  const sandboxKey = asksLive ? sandbox?.live_key : sandbox?.test_key
  const key = options['key'] === undefined ? (variables[keyVariable] ?? sandboxKey) : readKeyFile(options['key'])
  const address = options['base-url'] ?? sandbox?.base_url
  if (key === undefined || address === undefined) {
    const missing = key === undefined ? `set ${keyVariable} or --key FILE` : 'set --base-url'
    throw new CommandError(`There is no ${dataFolder}/sandbox.json. Set WATTLEDGER_DATA_DIR, or ${missing}.`)
  }
  const mode = apiKeyMode(key)?.liveMode
  if (mode === undefined) {
    throw new UsageError(
      /^sk_(live|test)_/.test(key)
        ? 'The key is incomplete or has a typing error. Copy all of it.'
        : 'The key must be an API key, which begins with sk_live_ or sk_test_.',
    )
  }
  if (mode && !asksLive && writes !== null)
    throw new UsageError(`The key is a live key, so ${writes}. Add --live to confirm, or use a test key.`)
  if (!mode && asksLive) throw new UsageError('The key is a test key. Leave out --live, or use a live key.')
  const baseUrl = readBaseUrl(address)
  const headers = { Authorization: `Bearer ${key}`, 'Api-Version': apiVersionDates.current }
  const client = serviceClient(baseUrl, headers, parse)
  const { account_id: accountId } = await client.ask(accountRetrieve, {})
  return { client, baseUrl, accountId, liveMode: mode, dataFolder }
}
