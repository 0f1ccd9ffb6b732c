import { readSandbox } from '../platform/access/sandbox-file.ts'
import { readStoredSecrets } from '../platform/access/secrets.ts'
import { readConfig } from '../platform/config/config.ts'
import { CommandError, type CommandInput, type CommandOption } from './command.ts'
import { type ServiceClient, serviceClient } from './service-client.ts'
import { readBaseUrl } from './target.ts'

/** The option that names the service whose operator calls. */
export const operatorOptions: Readonly<Record<string, CommandOption>> = {
  'base-url': { value: 'URL', summary: 'Where the service answers; its own address when absent.' },
}

/**
 * Make a client that calls the running service with the operator's key: from the settings, else from the data folder.
 * Throws `CommandError` where the key is not known here.
 */
export const operatorClient = ({ options, variables }: Pick<CommandInput, 'options' | 'variables'>): ServiceClient => {
  const config = readConfig(variables)
  const sandbox = readSandbox(config.dataFolder)
  const key = config.operatorKey ?? readStoredSecrets(config.dataFolder).operator_key ?? sandbox?.operator_key
  if (key === undefined) {
    throw new CommandError(
      `the operator's key is not in ${config.dataFolder}; name the data folder of the service with WATTLEDGER_DATA_DIR, or set WATTLEDGER_OPERATOR_KEY as the service has it`,
    )
  }
  const baseUrl = options['base-url'] ?? sandbox?.base_url ?? `http://${config.host}:${config.port}`
  return serviceClient(readBaseUrl(baseUrl), { 'X-Operator-Key': key })
}
