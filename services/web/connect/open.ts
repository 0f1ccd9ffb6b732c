import { connectPathsOf } from '../../contract/connect/connect-url.ts'
import { currentInstant } from '../../platform/clock.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../../platform/role-module.ts'
import { connectPages, logoUrls } from './connect-page.ts'

/** Open the pages of Connect. */
export const openConnectPages = ({ config, database, secrets: { secret } }: SharedDependencies): RoleModule => {
  const readLogoUrls = logoUrls({ database, secret, at: currentInstant })
  const staticRoutes = connectPathsOf(config.connectPath).flatMap(path => connectPages(path, readLogoUrls))
  return { ...emptyRoleModule, staticRoutes }
}
