import { type DryRun, type DryRunError, dryRunToWire, maxListedErrors } from '../contract/dry-run.ts'
import type { Operation, Outcome, RequestOf } from '../contract/operation.ts'
import { isUnchanged, type SiteChanges } from '../domain/plan/decide-site.ts'
import type { Result } from '../domain/refusal.ts'
import type { Tenant } from '../domain/tenant.ts'
import { rehearseTenant, type TenantTransaction } from '../platform/postgres/transaction.ts'
import { type Change, change, tenantOf } from './change.ts'
import type { MeteringFacts } from './costs/metering-facts.ts'
import type { QueryServiceDependencies } from './dependencies.ts'

/** Collects the effects of a dry run. */
export type Impact = {
  readonly addSite: (locationId: string, changes: SiteChanges) => void
  /** Add a location whose prices change, by direction and interval. */
  readonly addPrices: (locationId: string, prices: SiteChanges['prices']) => void
  readonly addError: (error: DryRunError) => void
}

type PriceGroup = Pick<SiteChanges['prices'][number], 'direction' | 'from' | 'to'> & { readonly locationIds: string[] }

const locationsPerCount = 500
const maxCountMs = 15_000

/** Count the stored rows of changed prices. After 15 s the rest is extrapolated from the counted locations. */
const countStoredRows = async (
  metering: Pick<MeteringFacts, 'countRows'>,
  tenant: Tenant,
  groups: readonly PriceGroup[],
): Promise<number> => {
  const startedAt = performance.now()
  let rows = 0
  let counted = 0
  for (const { locationIds, direction, from, to } of groups) {
    for (let start = 0; start < locationIds.length; start += locationsPerCount) {
      if (performance.now() - startedAt > maxCountMs) {
        const all = groups.reduce((sum, group) => sum + group.locationIds.length, 0)
        return Math.round((rows * all) / Math.max(1, counted))
      }
      const page = locationIds.slice(start, start + locationsPerCount)
      rows += await metering.countRows(tenant, page, direction, { from, to })
      counted += page.length
    }
  }
  return rows
}

const collectImpact = () => {
  const groups = new Map<string, PriceGroup>()
  const locationIds = new Set<string>()
  const errors: DryRunError[] = []
  const addPrices: Impact['addPrices'] = (locationId, prices) => {
    locationIds.add(locationId)
    for (const { direction, from, to } of prices) {
      const key = `${direction} ${from} ${to}`
      const group = groups.get(key) ?? { direction, from, to, locationIds: [] }
      group.locationIds.push(locationId)
      groups.set(key, group)
    }
  }
  const impact: Impact = {
    addPrices,
    addSite: (locationId, changes) => {
      if (!isUnchanged(changes)) addPrices(locationId, changes.prices)
    },
    addError: error => {
      if (errors.length < maxListedErrors) errors.push(error)
    },
  }
  const read = async (metering: MeteringFacts, tenant: Tenant): Promise<DryRun> => ({
    locations: locationIds.size,
    storedRows: await countStoredRows(metering, tenant, [...groups.values()]),
    errors,
  })
  return { impact, read }
}

const hasDryRun = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && 'dry_run' in part && part.dry_run === true

/**
 * Change records of the caller in one transaction, as `change` does, or in a dry run. In a dry run the transaction is undone, and the answer has the
 * effects that `work` reports to the impact; without a dry run the impact is null.
 */
export const changeOrRehearse = async <T>(
  dependencies: QueryServiceDependencies,
  operation: Operation,
  request: RequestOf<Operation>,
  work: (transaction: TenantTransaction, impact: Impact | null) => Promise<Result<Change<T>>>,
): Promise<Outcome<T>> => {
  if (!hasDryRun(request.query) && !hasDryRun(request.body))
    return change(dependencies, operation, request, transaction => work(transaction, null))
  const { impact, read } = collectImpact()
  const tenant = tenantOf(request)
  const result = await rehearseTenant(dependencies.database, tenant, transaction => work(transaction, impact))
  if (!result.ok && result.refusal.code === 'not_found') return result
  if (!result.ok) impact.addError({ locationId: null, number: null, refusal: result.refusal })
  return { ok: true, dryRun: dryRunToWire(await read(dependencies.metering, tenant)) }
}
