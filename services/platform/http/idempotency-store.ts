import { apiVersionDates, readApiVersionHeader } from '../../contract/api-version.ts'
import type { IdempotencyClaim } from '../../contract/operation.ts'
import type { Seal } from '../access/seal.ts'
import type { Database } from '../postgres/database.ts'
import { abandonIdempotent, beginIdempotent, finishIdempotent } from '../postgres/registry/idempotency.ts'
import { type Tenant, type TenantTransaction, withTenant } from '../postgres/transaction.ts'
import type { IdempotencyStore, SavedAnswer } from './binding.ts'

/** Idempotency keys in PostgreSQL. An operation can save its answer in the transaction of its change. */
export type IdempotencyKeys = IdempotencyStore & {
  /**
   * Save the answer in the transaction of the change, so that a crash between the two cannot repeat the change.
   * Returns false if another process has taken over the attempt. The caller must then roll back the change.
   */
  readonly finishWithin: (
    transaction: TenantTransaction,
    claim: IdempotencyClaim,
    answer: SavedAnswer,
  ) => Promise<boolean>
}

type StoredAnswer = Parameters<typeof finishIdempotent>[2]

const ownerOf = ({ accountId, liveMode, key }: IdempotencyClaim): string => `${accountId} ${liveMode} ${key}`

const toStored = ({ status, apiVersion, body }: SavedAnswer, claim: IdempotencyClaim, seal: Seal): StoredAnswer => {
  const headers = { 'Api-Version': apiVersionDates[apiVersion] }
  if (!claim.secretAnswer) return { status, headers, body }
  return { status, headers: { ...headers, Sealed: 'body' }, body: seal.seal(body, ownerOf(claim)) }
}

const fromStored = ({ status, headers, body }: StoredAnswer, claim: IdempotencyClaim, seal: Seal): SavedAnswer => {
  const apiVersion = readApiVersionHeader(headers['Api-Version'])
  const opened = headers['Sealed'] === undefined ? body : seal.open(body, ownerOf(claim))
  return { status, apiVersion: (apiVersion.ok ? apiVersion.value : null) ?? 'current', body: opened }
}

/**
 * Create the store of idempotency keys. `seal` encrypts answers with a secret.
 * `holder` is the advisory lock that shows other processes that this process is alive.
 * Source: docs/rules/versions-and-transport.md #idempotency.
 */
export const idempotencyKeys = (database: Database, seal: Seal, holder: number | null = null): IdempotencyKeys => {
  /** Tokens of the attempts that run in this process, by claim. */
  const tokens = new WeakMap<IdempotencyClaim, string>()
  const tenantOf = ({ accountId, liveMode }: IdempotencyClaim): Tenant => ({ accountId, liveMode })
  const within = <T>(
    claim: IdempotencyClaim,
    none: T,
    work: (transaction: TenantTransaction, token: string) => Promise<T>,
  ): Promise<T> => {
    const token = tokens.get(claim)
    return token === undefined
      ? Promise.resolve(none)
      : withTenant(database, tenantOf(claim), transaction => work(transaction, token))
  }
  return {
    begin: async (claim, at) => {
      const found = await withTenant(database, tenantOf(claim), transaction =>
        beginIdempotent(transaction, { key: claim.key, hash: claim.fingerprint }, at, holder),
      )
      if (found.kind === 'begun') tokens.set(claim, found.token)
      if (found.kind === 'answered') return { state: 'done', answer: fromStored(found.answer, claim, seal) }
      return { state: found.kind === 'begun' ? 'new' : found.kind === 'mismatch' ? 'mismatch' : 'running' }
    },
    finish: async (claim, answer) => {
      await within(claim, false, (transaction, token) =>
        finishIdempotent(transaction, { key: claim.key, token }, toStored(answer, claim, seal)),
      )
    },
    abandon: claim =>
      within(claim, undefined, (transaction, token) => abandonIdempotent(transaction, { key: claim.key, token })),
    finishWithin: async (transaction, claim, answer) => {
      const token = tokens.get(claim)
      return (
        token !== undefined &&
        (await finishIdempotent(transaction, { key: claim.key, token }, toStored(answer, claim, seal)))
      )
    },
  }
}
