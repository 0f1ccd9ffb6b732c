import { isId } from '../../domain/identifier.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { isFailure } from '../../platform/failure.ts'
import { secretHashes } from '../../platform/ids/new-id.ts'
import { findSessionOwner } from '../../platform/postgres/connect/connect-sessions.ts'
import { listLogos } from '../../platform/postgres/connect/providers.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'

export type LogoDependencies = {
  readonly database: Pick<Database, 'operator'>
  readonly secret: Secret
  readonly at: () => number
}

const logoCacheMs = 60_000

/** Return the logo addresses of suppliers, read at most once a minute. If PostgreSQL fails, return the last result. */
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

/** Return the logo address of a session's account; null if it has none or PostgreSQL is unavailable. */
const accountLogo = async (
  { database, secret, at }: LogoDependencies,
  token: string | null,
): Promise<string | null> => {
  if (token === null || !isId('connectSession', token)) return null
  try {
    const owner = await findSessionOwner(database.operator, secretHashes(secret, token), at())
    return owner === null ? null : ((await retrieveAccount(database.operator, owner.tenant.accountId))?.logoUrl ?? null)
  } catch (error) {
    if (!isFailure(error)) throw error
    return null
  }
}

/** Return the image addresses of a session: the account's logo, then the logos of suppliers. */
export const logoUrls = (dependencies: LogoDependencies): ((token: string | null) => Promise<readonly string[]>) => {
  const readSupplierLogos = supplierLogos(() => listLogos(dependencies.database.operator), dependencies.at)
  return async token => {
    const [accountLogoUrl, supplierLogoUrls] = await Promise.all([
      accountLogo(dependencies, token),
      readSupplierLogos(),
    ])
    return accountLogoUrl === null ? supplierLogoUrls : [accountLogoUrl, ...supplierLogoUrls]
  }
}
