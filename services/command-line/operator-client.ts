import { readSandbox } from '../platform/access/sandbox-file.ts'
import { readStoredSecrets } from '../platform/access/secrets.ts'
import { readConfig } from '../platform/config/config.ts'
import { serviceAddress } from '../platform/config/service-address.ts'
import { CommandError, type CommandInput, type CommandOption } from './command.ts'
import { type ServiceClient, serviceClient } from './service-client.ts'
import { readBaseUrl } from './target.ts'

/** Option with the address of the service. */
export const operatorOptions: Readonly<Record<string, CommandOption>> = {
  'base-url': {
    value: 'URL',
    summary: 'Address of the service. Default: the address in the data folder or the settings.',
  },
}

/**
 * Create a client with the operator's key, which the settings or the data folder contain.
 * Throws `CommandError` if the key is missing.
 */
export const operatorClient = ({ options, variables }: Pick<CommandInput, 'options' | 'variables'>): ServiceClient => {
  const config = readConfig(variables)
  const sandbox = readSandbox(config.dataFolder)
  const key = config.operatorKey ?? readStoredSecrets(config.dataFolder).operator_key ?? sandbox?.operator_key
  if (key === undefined) {
    throw new CommandError(
      [
        `The operator's key is not in ${config.dataFolder}.`,
        'Set WATTLEDGER_DATA_DIR to the data folder of the service, or WATTLEDGER_OPERATOR_KEY to its key.',
      ].join(' '),
    )
  }
  const baseUrl = options['base-url'] ?? sandbox?.base_url ?? serviceAddress(config, config.port)
  return serviceClient(readBaseUrl(baseUrl), { 'X-Operator-Key': key })
}
