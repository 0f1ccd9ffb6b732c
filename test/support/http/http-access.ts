import { authenticator, operatorAuthenticator } from '../../../services/platform/access/authenticate.ts'
import { bearerTokens } from '../../../services/platform/access/bearer-token.ts'
import { sealWith } from '../../../services/platform/access/seal.ts'
import { keyVerifier } from '../../../services/platform/access/verify-key.ts'
import { isCurrency } from '../../../services/platform/geocoding/country.ts'
import { geocode, marketAreasOf } from '../../../services/platform/geocoding/geocode.ts'
import { idempotencyKeys } from '../../../services/platform/http/idempotency-store.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { keyStore, readKeyState } from '../../../services/platform/postgres/registry/api-keys.ts'
import { referenceFinder } from '../../../services/platform/postgres/registry/references.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'

export const secret = 'a secret of at least thirty-two characters'
export const operatorKey = 'ok_operator_key_of_the_tests'

/**
 * Create the access to an HTTP API over a real database. `ports` lack the clock and the log.
 * `dependencies` are those of the registry operations that do not differ between tests.
 */
export const openHttpAccess = (database: Database) => {
  const tokens = bearerTokens(secret)
  const idempotency = idempotencyKeys(database, sealWith(secret, 'kept answers'))
  return {
    dependencies: {
      database,
      geocode,
      areasOf: marketAreasOf,
      isCurrency,
      timeZone,
      bearerTokens: tokens,
      idempotency,
      secret,
      publicUrl: '',
      requestsPerSecond: null,
    },
    ports: {
      authenticate: authenticator(tokens, subject => readKeyState(database.operator, subject)),
      verifyKey: keyVerifier(secret, keyStore(database.operator)),
      authenticateOperator: operatorAuthenticator(operatorKey),
      findReferences: referenceFinder(database),
      idempotency,
      elapsed: () => performance.now(),
      newRequestId: () => `req_${crypto.randomUUID()}`,
      observe: () => undefined,
    },
  }
}
