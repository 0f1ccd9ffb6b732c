import { sameRoute } from '../../contract/operation.ts'
import { sealWith } from '../../platform/access/seal.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { marketAreasOf } from '../../platform/geocoding/geocode.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { credentialsPurpose } from '../../platform/postgres/secret-fingerprints.ts'
import { seedSuppliers } from '../../platform/provider-catalogue/suppliers.ts'
import type { LeasedWork } from '../../platform/role-module.ts'
import type { QueryServiceDependencies } from '../../query-service/dependencies.ts'
import { connectStep } from '../contract/connect-call.ts'
import { connectPathsOf } from '../contract/connect-url.ts'
import { importTariff } from './connect-batch.ts'
import { answerConnectCall } from './connect-call.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { connectTokenOperations } from './connect-tokens.ts'
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

/** Add the paths that the operator configured to the routes of the call, each with and without a slash at its end. */
const connectStepAt = (paths: readonly string[]) => {
  const others = paths
    .flatMap(path => [path, `${path}/`])
    .filter(path => !connectStep.routes.current.some(route => route.path === path))
  const otherRoutes = others.map(path => sameRoute('POST', path))
  const { current, earlier } = connectStep.routes
  const { routes: _, ...rest } = connectStep
  return {
    ...rest,
    routes: {
      current: [...current, ...otherRoutes.flatMap(routes => routes.current)],
      earlier: [...earlier, ...otherRoutes.flatMap(routes => routes.earlier)],
    },
  }
}

/** Bind the operations of Connect. */
const connectOperations = (dependencies: ConnectDependencies): readonly Binding[] => [
  ...connectTokenOperations(dependencies),
  importTariff(dependencies),
  bind(connectStepAt(dependencies.connectPaths), answerConnectCall(dependencies)),
]

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
