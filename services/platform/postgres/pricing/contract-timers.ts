import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'

/** Event of a contract end that is due; `dueAt` in ms. */
export type ContractTimer = Tenant & {
  readonly tariffId: string
  readonly locationId: string
  readonly type: 'tariff.expiring' | 'tariff.expired'
  readonly dueAt: number
  /** The next version of a plan follows without a gap, so the end is no news. */
  readonly continues: boolean
}

/**
 * Take the timers that are due by `at` (ms), oldest first, up to `limit`. The transaction deletes them and must write
 * their events. Timers that another transaction takes are skipped. `tariff.expired` waits until `tariff.expiring` was
 * written.
 */
export const takeContractTimers = async (
  { query }: OperatorTransaction,
  at: number,
  limit: number,
): Promise<readonly ContractTimer[]> => {
  const { rows } = await query<ContractTimer>(sql`
    with due as (
      select account_id, live_mode, tariff_id, type from contract_timers one
      where due_at <= ${toTimestamp(at)} and (type = 'tariff.expiring' or not exists (
        select from contract_timers earlier where type = 'tariff.expiring' and due_at <= one.due_at
          and (account_id, live_mode, tariff_id) = (one.account_id, one.live_mode, one.tariff_id)
      ))
      order by due_at limit ${limit} for update skip locked
    )
    delete from contract_timers t using due
    where t.account_id = due.account_id and t.live_mode = due.live_mode and t.tariff_id = due.tariff_id
      and t.type = due.type
    returning t.account_id as "accountId", t.live_mode as "liveMode", t.tariff_id as "tariffId",
      t.location_id as "locationId", t.type, t.due_at as "dueAt", exists (
        select from tariffs ended join tariffs next on next.location_id = ended.location_id
          and next.account_id = ended.account_id and next.live_mode = ended.live_mode
          and next.direction = ended.direction and next.type = ended.type
          and next.plan_assignment_id = ended.plan_assignment_id and next.contract_start = ended.contract_end
        where ended.account_id = t.account_id and ended.live_mode = t.live_mode and ended.id = t.tariff_id
          and next.closed_at is null and next.voided_at is null) as continues`)
  return rows.toSorted((a, b) => a.dueAt - b.dueAt)
}
