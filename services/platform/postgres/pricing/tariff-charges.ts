import sql from 'sql-template-tag'
import type { StoredCharge } from '../../../domain/charge/charge.ts'
import { toTimestampOrNull } from '../column.ts'
import { readFirst } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { type ChargeRow, chargeColumns, chargeFromRow, chargeTermsToRow } from './charge-row.ts'
import { readTariffRows } from './tariff-row.ts'

/** Interval of a stored tariff in ms, with its end if it was ended; null is open. */
export type TariffInterval = { readonly start: number | null; readonly end: number | null }

type IntervalRow = {
  readonly start: number | null
  readonly contractEnd: number | null
  readonly closedAt: number | null
}

/** Return the interval of a tariff, ended or not; null if it was voided. */
export const tariffInterval = async (transaction: TenantTransaction, id: string): Promise<TariffInterval | null> => {
  const row = await readFirst(transaction.query)<IntervalRow>(sql`
    select contract_start as start, contract_end as "contractEnd", closed_at as "closedAt" from tariffs
    where ${ownedBy(transaction)} and id = ${id} and voided_at is null`)
  if (row === null) return null
  const { start, contractEnd, closedAt } = row
  if (contractEnd === null || closedAt === null) return { start, end: contractEnd ?? closedAt }
  return { start, end: Math.min(contractEnd, closedAt) }
}

/** Let a charge follow a tariff. */
export const linkCharge = async (transaction: TenantTransaction, chargeId: string, tariffId: string): Promise<void> => {
  await transaction.query(sql`
    update charges set tariff_id = ${tariffId} where ${ownedBy(transaction)} and id = ${chargeId}`)
}

/** A charge whose tariff has no day is deleted, and equal days mark it. It returns if the tariff has days again. */
const isWithoutDays = sql`deleted_at is not null and terms->'startDay' = terms->'endDay'`

/** Charges that follow a tariff: those that apply, and those without a day. Locked until the transaction ends. */
export const linkedCharges = async (
  transaction: TenantTransaction,
  tariffId: string,
): Promise<{ readonly applied: readonly StoredCharge[]; readonly withoutDays: readonly StoredCharge[] }> => {
  const read = async (condition: ReturnType<typeof sql>): Promise<readonly StoredCharge[]> => {
    const { rows } = await transaction.query<ChargeRow>(sql`
      select ${chargeColumns} from charges
      where ${ownedBy(transaction)} and tariff_id = ${tariffId} and closed_at is null and ${condition}
      order by id for update`)
    return readTariffRows(rows, chargeFromRow, transaction.accountId)
  }
  return { applied: await read(sql`deleted_at is null`), withoutDays: await read(isWithoutDays) }
}

/** Write the days of a charge. `deletedAt` (ms) null: the charge applies. */
export const writeChargeDays = async (
  transaction: TenantTransaction,
  { id, terms }: StoredCharge,
  deletedAt: number | null,
): Promise<void> => {
  const row = chargeTermsToRow(terms)
  await transaction.query(sql`
    update charges set terms = ${row.terms}, deleted_at = ${toTimestampOrNull(deletedAt)}
    where ${ownedBy(transaction)} and id = ${id}`)
}
