import { connectPathsOf } from '../../contract/connect/connect-url.ts'
import { sealWith } from '../../platform/access/seal.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { marketAreasOf } from '../../platform/geocoding/market-areas.ts'
import type { Binding } from '../../platform/http/binding.ts'
import { credentialsPurpose } from '../../platform/postgres/connect/tariff-credentials.ts'
import { seedSuppliers } from '../../platform/provider-catalogue/suppliers.ts'
import type { LeasedWork } from '../../platform/role-module.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { connectOperations } from './connect-operations.ts'
import { connectWork } from './connect-work.ts'

/** What Connect needs of the process, beside what all operations share. */
export type ConnectOptions = Pick<ConnectDependencies, 'pricing' | 'logger' | 'fetch'> & {
  /** Where the flow is mounted, beside /connect. Each path is served with a slash at its end, too. */
  readonly path: string
  /** The key that credentials of providers are sealed under. */
  readonly credentialsKey: Secret
  /** The present instant in ms. */
  readonly at: () => number
}

/** What Connect brings into the process; `work` is what nobody's call does. */
export type ConnectModule = {
  readonly operations: readonly Binding[]
  readonly work: LeasedWork
}

/** Open Connect: its operations and its work. Suppliers that the service comes with are written where they are new. */
export const openConnect = async (
  shared: QueryServiceDependencies,
  { path, credentialsKey, at, ...settings }: ConnectOptions,
): Promise<ConnectModule> => {
  await seedSuppliers(shared.database, at())
  const dependencies: ConnectDependencies = {
    ...shared,
    ...settings,
    credentialsSeal: sealWith(credentialsKey, credentialsPurpose),
    areasOf: marketAreasOf,
    connectPaths: connectPathsOf(path),
  }
  return { operations: connectOperations(dependencies), work: connectWork(dependencies, at) }
}
