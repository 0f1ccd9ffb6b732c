import type { Tenant } from '../../domain/tenant.ts'

/**
 * A refused sign-in. `objectId` is the user or key that tried it, or the account that a wrong key named.
 * `peer` is the address of the client.
 */
export type SignInFailure = Tenant & {
  readonly action: 'user.sign_in_failed' | 'api_key.sign_in_failed'
  readonly objectId: string
  readonly reason:
    | 'wrong_password'
    | 'wrong_key'
    | 'revoked_key'
    | 'wrong_account'
    | 'provider_refused'
    | 'login_in_use'
    | 'account_disabled'
  readonly peer: string
}

/** Failures of one kind, object and peer; instants in ms. `objectId`, `reason` and `peer` null: several of them. */
export type CountedFailures = Pick<SignInFailure, 'action'> & {
  readonly objectId: string | null
  readonly reason: SignInFailure['reason'] | null
  readonly peer: string | null
  readonly attempts: number
  readonly firstAt: number
  readonly lastAt: number
}

type TenantCounts = Tenant & { counts: Map<string, CountedFailures>; restMs: number; dueAt: number }

/** Counted failures of one tenant. */
export type TenantFailures = Tenant & { readonly failures: readonly CountedFailures[] }

/** Failures of a process until the audit log has them. */
export type SignInFailureCounter = {
  readonly add: (failure: SignInFailure, at: number) => void
  /** Remove and return the failures of the tenants that are due at `at`, or with `isStopping` of all. */
  readonly take: (at: number, isStopping: boolean) => readonly TenantFailures[]
  /** Add failures again that could not be stored. */
  readonly putBack: (failures: TenantFailures, at: number) => void
  /** Forget a tenant that does not exist. */
  readonly forget: (tenant: Tenant) => void
  /** Return the failures that were not counted since the last call, because the memory of the counter was full. */
  readonly takeUncounted: () => number
}

/** Max tenants in memory, and kinds of failures of a tenant. Other failures of a tenant share a count. */
const maxTenants = 1_000
const maxCounts = 20
/** Time in ms until failures are due: a minute, then twice as long after each time, while failures continue. */
const rests = { first: 60_000, longest: 3_600_000 } as const

const merge = (a: CountedFailures, b: CountedFailures): CountedFailures => ({
  ...a,
  attempts: a.attempts + b.attempts,
  firstAt: Math.min(a.firstAt, b.firstAt),
  lastAt: Math.max(a.lastAt, b.lastAt),
})

const tenantName = ({ accountId, liveMode }: Tenant): string => `${accountId} ${liveMode}`

const nameOf = ({ action, objectId, reason, peer }: CountedFailures): string =>
  [action, objectId, reason, peer].join(' ')

/** Count failures under their name, or with the others of their action if the tenant has many names. */
const count = (counts: Map<string, CountedFailures>, failures: CountedFailures): void => {
  const isNew = !counts.has(nameOf(failures))
  const counted =
    isNew && counts.size >= maxCounts ? { ...failures, objectId: null, reason: null, peer: null } : failures
  const name = nameOf(counted)
  const before = counts.get(name)
  counts.set(name, before === undefined ? counted : merge(before, counted))
}

/**
 * Create a counter of failed sign-ins. Its memory and the rate of its results are bounded, whatever clients send: a tenant
 * has at most 22 counts each time, and each time after the first takes twice as long, up to an hour.
 * Source: docs/audit-log.md #failed-sign-ins.
 */
export const signInFailureCounter = (): SignInFailureCounter => {
  const tenants = new Map<string, TenantCounts>()
  let uncounted = 0
  const addCounted = (tenant: Tenant, failures: CountedFailures, at: number): void => {
    const { accountId, liveMode } = tenant
    const name = tenantName(tenant)
    const known = tenants.get(name)
    if (known === undefined && tenants.size >= maxTenants) {
      uncounted += failures.attempts
      return
    }
    const counts = known ?? { accountId, liveMode, counts: new Map(), restMs: rests.first, dueAt: at + rests.first }
    tenants.set(name, counts)
    count(counts.counts, failures)
  }
  return {
    add: ({ accountId, liveMode, ...failure }, at) =>
      addCounted({ accountId, liveMode }, { ...failure, attempts: 1, firstAt: at, lastAt: at }, at),
    take: (at, isStopping) => {
      const due: TenantFailures[] = []
      for (const [name, tenant] of tenants) {
        if (!isStopping && at < tenant.dueAt) continue
        const { accountId, liveMode, counts } = tenant
        if (counts.size === 0) {
          tenants.delete(name)
          continue
        }
        due.push({ accountId, liveMode, failures: [...counts.values()] })
        tenant.counts = new Map()
        tenant.restMs = Math.min(tenant.restMs * 2, rests.longest)
        tenant.dueAt = at + tenant.restMs
      }
      return due
    },
    putBack: ({ failures, ...tenant }, at) => {
      for (const one of failures) addCounted(tenant, one, at)
    },
    forget: tenant => void tenants.delete(tenantName(tenant)),
    takeUncounted: () => {
      const dropped = uncounted
      uncounted = 0
      return dropped
    },
  }
}
