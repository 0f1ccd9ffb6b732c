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

/** Settings of Connect, in addition to the dependencies of all operations. */
export type ConnectOptions = Pick<ConnectDependencies, 'pricing' | 'logger' | 'fetch'> & {
  /** Path at which the flow answers in addition to /connect. Each path also answers with a slash at its end. */
  readonly path: string
  /** Key that encrypts the credentials of providers. */
  readonly credentialsKey: Secret
  /** Return the current instant in ms. */
  readonly at: () => number
}

/** Operations and background work of Connect. */
export type ConnectModule = {
  readonly operations: readonly Binding[]
  readonly work: LeasedWork
}

/** Open Connect. New suppliers of the built-in catalogue are written to PostgreSQL. */
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
