import type { BearerTokens } from '../platform/access/bearer-token.ts'
import type { OpenIdProvider } from '../platform/access/openid-provider.ts'
import type { PasswordHasher } from '../platform/access/password-hash.ts'
import type { Secret } from '../platform/access/secrets.ts'
import type { SignInFailure } from '../platform/access/sign-in-failures.ts'
import type { PeerOf } from '../platform/http/peer.ts'
import type { SignInThrottle } from '../platform/http/throttle/sign-in-throttle.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { FetchApi } from './api.ts'

/** What the pages of the console need from the service. */
export type ConsoleDependencies = {
  readonly database: Database
  /** Hashes of passwords, and the limit of failed sign-ins. */
  readonly passwords: PasswordHasher
  readonly throttle: SignInThrottle
  /** Called for each refused sign-in of a known user. */
  readonly onSignInFailure: (failure: SignInFailure) => void
  readonly peerOf: PeerOf
  /** Visitors may sign in with an API key. */
  readonly allowsKeys: boolean
  /** OpenID provider for users; null without one. */
  readonly provider: OpenIdProvider | null
  /** Origin of the console; null: the origin of the request. */
  readonly publicUrl: string | null
  readonly bearerTokens: BearerTokens
  /** Secret for the hashes of sessions and keys. */
  readonly secret: Secret
  /** Address of the gateways, to which imports send readings; null if this process is a gateway. */
  readonly gatewayUrl: string | null
  /** The API of this service. */
  readonly fetch: FetchApi
  /** Return the current time in ms. */
  readonly at: () => number
  readonly logger: Pick<Logger, 'error' | 'warn'>
}
