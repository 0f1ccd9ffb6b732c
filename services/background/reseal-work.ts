import { hourMs } from '../domain/interval.ts'
import { resealWith } from '../platform/access/seal.ts'
import { type Secret, secretTexts } from '../platform/access/secrets.ts'
import type { Database } from '../platform/postgres/database.ts'
import { providerCredentials, type ResealedPage, resealPage, webhookSecrets } from '../platform/postgres/reseal.ts'
import { credentialsPurpose } from '../platform/postgres/secret-fingerprints.ts'
import { webhookPurpose } from '../platform/postgres/webhooks/webhook-secret.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { Logger } from '../platform/telemetry/logger.ts'

export type ResealOptions = {
  readonly database: Pick<Database, 'operator'>
  readonly secret: Secret
  readonly credentialsKey: Secret
  readonly logger: Pick<Logger, 'info'>
}

/**
 * Work that encrypts stored values again, page by page, if they are sealed with a former secret; the former secret can
 * then be removed. The work repeats every hour, because processes that do not have the new secret yet may seal more
 * values. Null if no secret was changed.
 */
export const resealWork = ({ database, secret, credentialsKey, logger }: ResealOptions): LeasedWork | null => {
  if (secretTexts(secret).length === 1 && secretTexts(credentialsKey).length === 1) return null
  const columns = [
    webhookSecrets(resealWith(secret, webhookPurpose)),
    providerCredentials(resealWith(credentialsKey, credentialsPurpose)),
  ]
  let columnIndex = 0
  let after: ResealedPage['next'] = null
  let resealed = 0
  return {
    name: 'reseal',
    restMs: hourMs,
    turn: async () => {
      const column = columns[columnIndex]
      if (column !== undefined) {
        const { rows, next } = await resealPage(database.operator, column, after)
        resealed += rows
        after = next
        if (next === null) columnIndex += 1
        return true
      }
      logger.info({ resealed }, 'Values of former secrets resealed')
      columnIndex = 0
      resealed = 0
      return false
    },
  }
}
