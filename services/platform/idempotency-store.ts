import { layoutFromHeader, versionOf } from '../contract/layout.ts'
import type { IdempotencyClaim } from '../contract/operation.ts'
import type { IdempotencyStore, KeptAnswer } from './http/binding.ts'
import type { Database } from './postgres/database.ts'
import { abandonIdempotent, beginIdempotent, finishIdempotent } from './postgres/idempotency.ts'
import { type Tenant, type TenantTransaction, withTenant } from './postgres/transaction.ts'

/** Idempotency keys in PostgreSQL, which an operation may finish together with its change. */
export type IdempotencyKeys = IdempotencyStore & {
  /**
   * Keep the answer in the transaction of the change, so that a crash between the two cannot make a repeat do it twice.
   * False when another process has taken the attempt over: then the change must be undone.
   */
  readonly finishWithin: (transaction: TenantTransaction, claim: IdempotencyClaim, answer: KeptAnswer) => Promise<boolean>
}

type StoredAnswer = Parameters<typeof finishIdempotent>[2]

const toStored = ({ status, layout, body }: KeptAnswer): StoredAnswer => ({ status, headers: { 'Api-Version': versionOf[layout] }, body })

const fromStored = ({ status, headers, body }: StoredAnswer): KeptAnswer => {
  const layout = layoutFromHeader(headers['Api-Version'])
  return { status, layout: (layout.ok ? layout.value : null) ?? 'current', body }
}

/** Make the store of idempotency keys. Source: contract decisions 2. */
export const idempotencyKeys = (database: Database): IdempotencyKeys => {
  /** The attempts that run in this process, by the claim that each request holds. */
  const tokens = new WeakMap<IdempotencyClaim, string>()
  const tenantOf = ({ accountId, liveMode }: IdempotencyClaim): Tenant => ({ accountId, liveMode })
  const within = <T>(claim: IdempotencyClaim, none: T, work: (transaction: TenantTransaction, token: string) => Promise<T>): Promise<T> => {
    const token = tokens.get(claim)
    return token === undefined ? Promise.resolve(none) : withTenant(database, tenantOf(claim), transaction => work(transaction, token))
  }
  return {
    begin: async (claim, at) => {
      const found = await withTenant(database, tenantOf(claim), transaction =>
        beginIdempotent(transaction, { key: claim.key, hash: claim.fingerprint }, at),
      )
      if (found.kind === 'begun') tokens.set(claim, found.token)
      if (found.kind === 'answered') return { state: 'done', answer: fromStored(found.answer) }
      return { state: found.kind === 'begun' ? 'new' : found.kind === 'mismatch' ? 'mismatch' : 'running' }
    },
    finish: async (claim, answer) => {
      await within(claim, false, (transaction, token) => finishIdempotent(transaction, { key: claim.key, token }, toStored(answer)))
    },
    abandon: claim => within(claim, undefined, (transaction, token) => abandonIdempotent(transaction, { key: claim.key, token })),
    finishWithin: async (transaction, claim, answer) => {
      const token = tokens.get(claim)
      return token !== undefined && (await finishIdempotent(transaction, { key: claim.key, token }, toStored(answer)))
    },
  }
}
