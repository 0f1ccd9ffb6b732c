import { createHash } from 'node:crypto'
import sql from 'sql-template-tag'
import type { ChargeTerms } from '../../../domain/charge/charge.ts'
import { type PlanPrices, type PlanTariffTerms, specialDaysOfCharge } from '../../../domain/plan/plan.ts'
import { type Result, refused } from '../../../domain/refusal.ts'
import { specialDaysOf } from '../../../domain/tariff/special-days.ts'
import type { SpecialDay } from '../../../domain/tariff/tariff.ts'
import { mapInTimeSlices } from '../../concurrency/time-slices.ts'
import { readFirst } from '../database.ts'
import { ownedBy } from '../page.ts'
import { type ChargeRow, chargeTermsFromRow, chargeTermsToRow } from '../pricing/charge-row.ts'
import { findMissingDevice } from '../pricing/charges.ts'
import { scheduleFromText, termsToText } from '../pricing/tariff-row.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Characters of all tariffs and charges of a plan at most. */
const maxLength = 4 * 1024 * 1024

/** Key of a content. Equal contents in one list get different keys. */
const keyOf = (content: string, known: ReadonlySet<string>): string => {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 24)
  for (let copy = 1; ; copy += 1) {
    const key = copy === 1 ? hash : `${hash}-${copy}`
    if (!known.has(key)) return key
  }
}

type TariffRow = Omit<PlanTariffTerms, 'schedule'> & {
  readonly key: string
  readonly specialDays: readonly SpecialDay[]
  readonly terms: string
}

const tariffRow = ({ schedule, ...members }: PlanTariffTerms, keys: Set<string>): TariffRow => {
  const terms = termsToText(schedule)
  const key = keyOf(JSON.stringify(members) + terms, keys)
  keys.add(key)
  return { ...members, key, terms, specialDays: specialDaysOf(schedule) }
}

type PlanChargeRow = Pick<ChargeRow, 'terms' | 'schedule'> &
  Pick<ChargeTerms, 'startDay' | 'endDay'> & { readonly key: string; readonly specialDays: readonly SpecialDay[] }

const chargeRow = (charge: ChargeTerms, keys: Set<string>): PlanChargeRow => {
  const { terms, schedule } = chargeTermsToRow(charge)
  const key = keyOf(`${terms}${schedule}`, keys)
  keys.add(key)
  const { startDay, endDay } = charge
  return { key, terms, schedule, startDay, endDay, specialDays: specialDaysOfCharge(charge) }
}

/** Version of a plan, by its number. */
export type VersionKey = { readonly planId: string; readonly version: number }

/** Replace the tariffs of a version. The constraint refuses an unknown provider. */
export const writePlanTariffs = async (
  transaction: TenantTransaction,
  { planId, version }: VersionKey,
  tariffs: readonly PlanTariffTerms[],
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  await query(sql`
    delete from plan_tariffs where ${ownedBy(transaction)} and plan_id = ${planId} and version = ${version}`)
  const keys = new Set<string>()
  const rows = await mapInTimeSlices(tariffs, tariff => tariffRow(tariff, keys), accountId)
  for (const [place, row] of rows.entries())
    await query(sql`
      insert into plan_tariffs (account_id, live_mode, plan_id, version, key, place, direction, type, display_name,
        provider_id, component, market_rates, special_days, terms)
      values (${accountId}, ${liveMode}, ${planId}, ${version}, ${row.key}, ${place}, ${row.direction}, ${row.type},
        ${row.displayName}, ${row.providerId}, ${row.component}, ${row.marketRates}, ${row.specialDays}::text[],
        ${row.terms})`)
}

/** Replace the charges of a version. Refuses `device_not_found`. */
export const writePlanCharges = async (
  transaction: TenantTransaction,
  { planId, version }: VersionKey,
  charges: readonly ChargeTerms[],
): Promise<Result<never> | null> => {
  const { accountId, liveMode, query } = transaction
  for (const [index, charge] of charges.entries()) {
    const missing = await findMissingDevice(transaction, charge)
    if (missing === null || missing.ok) continue
    const { code, message, field } = missing.refusal
    return refused(code, message, `charges[${index}].${field}`)
  }
  await query(sql`
    delete from plan_charges where ${ownedBy(transaction)} and plan_id = ${planId} and version = ${version}`)
  const keys = new Set<string>()
  const rows = await mapInTimeSlices(charges, charge => chargeRow(charge, keys), accountId)
  for (const [place, row] of rows.entries())
    await query(sql`
      insert into plan_charges (account_id, live_mode, plan_id, version, key, place, start_day, end_day, special_days,
        terms, schedule)
      values (${accountId}, ${liveMode}, ${planId}, ${version}, ${row.key}, ${place}, ${row.startDay}, ${row.endDay},
        ${row.specialDays}::text[], ${row.terms}, ${row.schedule})`)
  return null
}

/** Return the length of the prices of a plan as JSON: of all tariffs and charges of its versions. */
export const lengthOfPrices = async (transaction: TenantTransaction, planId: string): Promise<number> => {
  const stored = await readFirst(transaction.query)<{ length: number }>(sql`
    select ((select coalesce(sum(length(terms::text)), 0) from plan_tariffs
        where ${ownedBy(transaction)} and plan_id = ${planId})
      + (select coalesce(sum(length(terms::text) + coalesce(length(schedule::text), 0)), 0) from plan_charges
        where ${ownedBy(transaction)} and plan_id = ${planId}))::bigint as length`)
  return stored?.length ?? 0
}

/** Refuse the versions of a plan if they are too large together. */
export const refuseSize = async (transaction: TenantTransaction, planId: string): Promise<Result<never> | null> => {
  if ((await lengthOfPrices(transaction, planId)) <= maxLength) return null
  const message = `The versions of a plan have at most ${maxLength / 1024 ** 2} MiB in all. Create another plan.`
  return refused('too_many_versions', message, 'tariffs')
}

type StoredTariffRow = TariffRow & { readonly version: number }
type StoredChargeRow = PlanChargeRow & { readonly version: number }

const readTariff = ({ terms, version, ...row }: StoredTariffRow): VersionOf<PlanTariffTerms> => {
  const { direction, type, displayName, providerId, component, marketRates } = row
  const schedule = scheduleFromText(terms)
  return { version, value: { direction, type, displayName, providerId, component, marketRates, schedule } }
}

const readCharge = ({ terms, schedule, version }: StoredChargeRow): VersionOf<ChargeTerms> => ({
  version,
  value: chargeTermsFromRow({ terms, schedule }),
})

type VersionOf<T> = { readonly version: number; readonly value: T }

const byVersion = <T>(values: readonly VersionOf<T>[]): ReadonlyMap<number, readonly T[]> =>
  new Map(
    [...Map.groupBy(values, ({ version }) => version)].map(([version, own]) => [version, own.map(one => one.value)]),
  )

/** Read the tariffs and charges of a plan, by version. */
export const readPlanPrices = async (
  transaction: TenantTransaction,
  planId: string,
): Promise<(version: number) => PlanPrices> => {
  const { accountId, query } = transaction
  const owned = ownedBy(transaction)
  const tariffs = await query<StoredTariffRow>(sql`
    select version, direction, type, display_name as "displayName", provider_id as "providerId",
      component, market_rates as "marketRates", terms::text as terms
    from plan_tariffs where ${owned} and plan_id = ${planId} order by version, place`)
  const charges = await query<StoredChargeRow>(sql`
    select version, terms::text as terms, schedule::text as schedule
    from plan_charges where ${owned} and plan_id = ${planId} order by version, place`)
  const tariffsOf = byVersion(await mapInTimeSlices(tariffs.rows, readTariff, accountId))
  const chargesOf = byVersion(await mapInTimeSlices(charges.rows, readCharge, accountId))
  return version => ({ tariffs: tariffsOf.get(version) ?? [], charges: chargesOf.get(version) ?? [] })
}
