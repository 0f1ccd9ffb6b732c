import sql from 'sql-template-tag'
import type { PlanTerms } from '../../../domain/plan/decide-site.ts'
import type { PlanCharge, PlanTariff } from '../../../domain/plan/plan.ts'
import { type Result, refused } from '../../../domain/refusal.ts'
import type { SpecialDay } from '../../../domain/tariff/tariff.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** Plan that decides the tariffs and charges of its locations, at one revision. */
export type StoredPlanTerms = PlanTerms &
  Tenant & {
    readonly planId: string
    readonly revision: number
    /** Locations to change in one transaction, so that a page has a limited number of rows and bytes. */
    readonly locationsPerPage: number
  }

const maxPage = { locations: 100, rows: 10_000, bytes: 64 * 1024 * 1024 } as const

type Row = {
  readonly version: number
  readonly specialDays: readonly SpecialDay[]
  /** Stored bytes. */
  readonly bytes: number
}

/**
 * Read the parts of a plan that decide the tariffs and charges of its locations. The caller has locked the plan, so that
 * its versions belong to its revision. Null if the plan does not exist.
 */
export const readPlanTerms = async (
  transaction: TenantTransaction,
  planId: string,
): Promise<StoredPlanTerms | null> => {
  const { accountId, liveMode, query } = transaction
  const owned = ownedBy(transaction)
  const plans = await query<{ currencyCode: string; revision: number }>(sql`
    select currency_code as "currencyCode", revision from plans
    where ${owned} and id = ${planId} and deleted_at is null`)
  const plan = plans.rows[0]
  if (plan === undefined) return null
  const versions = await query<{ version: number; startDay: number | null }>(sql`
    select version, start_day as "startDay" from plan_versions
    where ${owned} and plan_id = ${planId}`)
  const tariffs = await query<PlanTariff & Row>(sql`
    select version, key, direction, type, market_rates as "marketRates", special_days as "specialDays",
      pg_column_size(terms) as bytes
    from plan_tariffs where ${owned} and plan_id = ${planId} order by version, place`)
  const charges = await query<PlanCharge & Row>(sql`
    select version, key, start_day as "startDay", end_day as "endDay",
      special_days as "specialDays", schedule is not null as "hasSchedule", pg_column_size(terms) + coalesce(pg_column_size(schedule), 0) as bytes
    from plan_charges where ${owned} and plan_id = ${planId} order by version, place`)
  const tariffsOf = Map.groupBy(tariffs.rows, ({ version }) => version)
  const chargesOf = Map.groupBy(charges.rows, ({ version }) => version)
  const parts = [...tariffs.rows, ...charges.rows]
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const perPage = Math.min(maxPage.rows / Math.max(1, parts.length), maxPage.bytes / Math.max(1, bytes))
  return {
    accountId,
    liveMode,
    planId,
    ...plan,
    locationsPerPage: Math.max(1, Math.min(maxPage.locations, Math.floor(perPage))),
    versions: versions.rows.map(version => ({
      ...version,
      tariffs: tariffsOf.get(version.version) ?? [],
      charges: chargesOf.get(version.version) ?? [],
    })),
  }
}

/** Refuse to change a tariff or charge of a plan by itself; null if it belongs to no plan. */
export const refuseManaged = (planId: string | null, object: 'tariff' | 'charge'): Result<never> | null =>
  planId === null
    ? null
    : refused('plan_managed', `Plan ${planId} keeps this ${object}: change a version or an assignment of the plan.`)
