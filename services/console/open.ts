import { readFileSync } from 'node:fs'
import { bearerTokens } from '../platform/access/bearer-token.ts'
import { type OpenIdSettings, openIdProvider } from '../platform/access/openid-provider.ts'
import { passwordHasher } from '../platform/access/password-hash.ts'
import { currentInstant } from '../platform/clock.ts'
import type { OpenIdConfig } from '../platform/config/openid-config.ts'
import { peerFinder } from '../platform/http/peer.ts'
import { signInThrottle } from '../platform/http/throttle/sign-in-throttle.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { createConsole } from './console-pages.ts'
import type { ConsoleArea } from './console-request.ts'
import { startWarming } from './warm-pages.ts'

/** Read the settings of the OpenID provider, with its secret from the variable or the file. */
const readOpenIdSettings = ({ secretFile, clientSecret, ...settings }: OpenIdConfig): OpenIdSettings => ({
  ...settings,
  clientSecret: clientSecret ?? (secretFile === null ? '' : readFileSync(secretFile, 'utf8').trim()),
})

const elapsed = (): number => performance.now()

/** Open the console, which calls the API, with pages of other parts. The stack ends its work. `isGateway`: the process takes records. */
export const openConsole = (
  { config, database, secrets: { secret }, logger, signInFailures }: SharedDependencies,
  opening: AsyncDisposableStack,
  isGateway: boolean,
  areas: readonly ConsoleArea[],
): RoleModule => ({
  ...emptyRoleModule,
  mount: app => {
    const fetchFromApp = (request: Request, environment: unknown) =>
      app.fetch(request, environment as object | undefined)
    const shared = {
      database,
      secret,
      at: currentInstant,
      bearerTokens: bearerTokens(secret),
      logger,
      fetch: fetchFromApp,
    }
    opening.use(startWarming(shared))
    const consoleApp = createConsole(
      {
        ...shared,
        passwords: passwordHasher(),
        throttle: signInThrottle(),
        onSignInFailure: signInFailures.report,
        peerOf: peerFinder(config.trustedProxies),
        allowsKeys: config.allowsKeySignIn,
        publicUrl: config.publicUrl,
        gatewayUrl: isGateway ? null : (config.gatewayUrl ?? config.publicUrl),
        provider: config.openId === null ? null : openIdProvider(readOpenIdSettings(config.openId), elapsed),
      },
      areas,
    )
    for (const path of ['/console', '/console/*']) app.all(path, ({ req, env }) => consoleApp.fetch(req.raw, env))
  },
})
