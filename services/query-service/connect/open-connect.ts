import { isId } from '../../domain/identifier.ts'
import { isFailure } from '../../platform/failure.ts'
import type { Binding, StaticRoute } from '../../platform/http/binding.ts'
import { marketAreasOf } from '../../platform/geocoding/market-areas.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import { findSessionOwner } from '../../platform/postgres/connect/connect-sessions.ts'
import { listLogos } from '../../platform/postgres/connect/providers.ts'
import { credentialsPurpose } from '../../platform/postgres/connect/tariff-credentials.ts'
import { seedSuppliers } from '../../platform/provider-catalogue/suppliers.ts'
import { sealWith } from '../../platform/access/seal.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { connectPages } from '../../web/connect/connect-page.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import type { LeasedWork } from '../../background/leased-work.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { connectOperations } from './connect-operations.ts'
import { connectWork } from './connect-work.ts'
import { sessionIdsOf } from './finish-session.ts'

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
  readonly staticRoutes: readonly StaticRoute[]
  readonly work: LeasedWork
}

const logoCacheMs = 60_000

/** Return the addresses of the suppliers' logos, read at most once a minute; if PostgreSQL is away, those read before. */
export const supplierLogos = (read: () => Promise<readonly string[]>, at: () => number) => {
  let logos: readonly string[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return async (): Promise<readonly string[]> => {
    if (at() - readAt < logoCacheMs) return logos
    readAt = at()
    try {
      logos = await read()
    } catch (error) {
      if (!isFailure(error)) throw error
    }
    return logos
  }
}

/** Return the address of the logo of a session's account; null if there is none, or PostgreSQL is away. */
const accountLogo = async ({ database, secret }: QueryServiceDependencies, token: string | null, at: number): Promise<string | null> => {
  if (token === null || !isId('connectSession', token)) return null
  try {
    const owner = await findSessionOwner(database.operator, sessionIdsOf({ secret }, token), at)
    return owner === null ? null : ((await retrieveAccount(database.operator, owner.tenant.accountId))?.logoUrl ?? null)
  } catch (error) {
    if (!isFailure(error)) throw error
    return null
  }
}

/** Open Connect: its operations, its page, and its work. Suppliers that the service comes with are written where they are new. */
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
    connectPaths: [...new Set(['/connect', path])],
  }
  const readSupplierLogos = supplierLogos(() => listLogos(shared.database.operator), at)
  const logos = async (token: string | null): Promise<readonly string[]> => {
    const [accountLogoUrl, supplierLogoUrls] = await Promise.all([accountLogo(shared, token, at()), readSupplierLogos()])
    return accountLogoUrl === null ? supplierLogoUrls : [accountLogoUrl, ...supplierLogoUrls]
  }
  return {
    operations: connectOperations(dependencies),
    staticRoutes: dependencies.connectPaths.flatMap(path => connectPages(path, logos)),
    work: connectWork(dependencies, at),
  }
}
