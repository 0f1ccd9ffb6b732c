import type { Secret } from '../platform/access/secrets.ts'
import { currentInstant } from '../platform/clock.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import type { WingDependencies } from '../query-service/open.ts'
import { connectPathsOf } from './contract/connect-url.ts'
import { connectPages, logoUrls } from './pages/connect-page.ts'
import { openConnect } from './service/open-connect.ts'

/**
 * Open the wing of Connect: operations, pages, and the work that fetches the tariffs of providers. `credentialsKey` encrypts
 * the credentials of providers.
 */
export const openConnectWing = async (
  { config, logger, secrets: { secret } }: SharedDependencies,
  dependencies: WingDependencies,
  credentialsKey: Secret,
): Promise<RoleModule> => {
  const { pricing, database } = dependencies
  const at = currentInstant
  const path = config.connectPath
  const { operations, work } = await openConnect(dependencies, { pricing, logger, fetch, at, credentialsKey, path })
  const readLogoUrls = logoUrls({ database, secret, at })
  const staticRoutes = connectPathsOf(path).flatMap(one => connectPages(one, readLogoUrls))
  return { ...emptyRoleModule, operations, staticRoutes, leasedWork: [work] }
}
