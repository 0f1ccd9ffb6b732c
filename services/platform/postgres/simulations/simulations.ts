import sql from 'sql-template-tag'
import type { Refusal } from '../../../domain/refusal.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { countRows, hasRow, type Query, readFirst, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/**
 * Stored simulation. `request` and `sums` are JSON. `doneCount` locations are calculated; `nextDay` is the day number
 * from which the next one continues, null for its first day.
 */
export type StoredSimulation = OwnedObject & {
  readonly request: string
  readonly locationCount: number
  readonly doneCount: number
  readonly nextDay: number | null
  readonly sums: string | null
  readonly refusal: Refusal | null
  readonly status: 'PENDING' | 'DONE' | 'FAILED'
}

type SimulationRow = Omit<StoredSimulation, 'refusal'> & { readonly refusal: string | null }

/** Time after its creation in which a simulation can be read. */
const retentionMs = 86_400_000

/** Maximum number of unfinished simulations of an account in one mode. */
export const maxPendingSimulations = 10

const columns = sql`
  id, account_id as "accountId", live_mode as "liveMode", request, location_count as "locationCount",
  done_count as "doneCount", next_day as "nextDay", sums, refusal, status, time_created as "createdAt"`

const fromRow = ({ refusal, ...row }: SimulationRow): StoredSimulation => ({
  ...row,
  refusal: refusal === null ? null : JSON.parse(refusal),
})

/** Simulation to store. `requestHash` identifies equal requests. */
type SimulationDraft = Pick<StoredSimulation, 'request' | 'locationCount'> & { readonly requestHash: string }

/**
 * Store a simulation. Returns the unfinished simulation of an equal request, if there is one; null if the account has
 * too many unfinished simulations.
 */
export const createSimulation = async (
  transaction: TenantTransaction,
  { request, requestHash, locationCount }: SimulationDraft,
  at: number,
): Promise<StoredSimulation | null> => {
  const { accountId, liveMode, query } = transaction
  const isPending = sql`${ownedBy(transaction)} and status = 'PENDING'`
  // Requests of one account wait for each other here, so that none exceeds the limit.
  await query(sql`select pg_advisory_xact_lock(hashtextextended('simulations ' || ${accountId}, 0))`)
  const same = await readFirst(query)<SimulationRow>(
    sql`select ${columns} from simulations where ${isPending} and request_hash = ${requestHash}`,
  )
  if (same !== null) return fromRow(same)
  const inserted = await readFirst(query)<SimulationRow>(sql`
    insert into simulations (account_id, live_mode, id, request_hash, request, location_count, status, time_created)
    select ${accountId}, ${liveMode}, ${newId('simulation', at)}, ${requestHash}, ${request}, ${locationCount}, 'PENDING',
      ${toTimestamp(at)}
    where (select count(*) from simulations where ${isPending}) < ${maxPendingSimulations}
    returning ${columns}`)
  return inserted === null ? null : fromRow(inserted)
}

/** Retrieve a simulation of the last 24 hours; null if there is none. */
export const retrieveSimulation = async (
  { query, ...tenant }: TenantTransaction,
  id: string,
  at: number,
): Promise<StoredSimulation | null> => {
  const row = await readFirst(query)<SimulationRow>(sql`
    select ${columns} from simulations
    where ${ownedBy(tenant)} and id = ${id} and time_created > ${toTimestamp(at - retentionMs)}`)
  return row === null ? null : fromRow(row)
}

/** Key of a simulation. */
export type SimulationKey = Tenant & { readonly id: string }

/** Return the oldest unfinished simulation of each account, at most `limit`. */
export const oldestPendingSimulations = (operator: Query, limit: number): Promise<readonly SimulationKey[]> =>
  readRows(operator)(sql`
    select distinct on (account_id) account_id as "accountId", live_mode as "liveMode", id
    from simulations where status = 'PENDING' order by account_id, id limit ${limit}`)

/** State of a simulation that its progress changes. */
type SimulationState = Pick<StoredSimulation, 'accountId' | 'liveMode' | 'id' | 'doneCount' | 'nextDay'>

/** Return the condition of a simulation that is still in a state: another process has not continued it. */
const isStill = (before: SimulationState) => sql`${ownedBy(before)} and id = ${before.id} and status = 'PENDING'
  and done_count = ${before.doneCount} and next_day is not distinct from ${before.nextDay}`

/**
 * Count a turn before its work, so that a turn that ends the process is counted too. Returns the turns since the last
 * progress, this one included; null if the simulation is no longer in the state `before`.
 */
export const countAttempt = async (operator: Query, before: SimulationState): Promise<number | null> => {
  const row = await readFirst(operator)<{ readonly attempts: number }>(
    sql`update simulations set attempts = attempts + 1 where ${isStill(before)} returning attempts`,
  )
  return row?.attempts ?? null
}

/** Take back the count of a turn that ended early for a reason outside of the simulation. */
export const uncountAttempt = async (operator: Query, before: SimulationState): Promise<void> => {
  await operator(sql`update simulations set attempts = attempts - 1 where ${isStill(before)} and attempts > 0`)
}

/** Progress of a simulation after some work. */
export type SimulationProgress = Pick<StoredSimulation, 'doneCount' | 'nextDay' | 'sums' | 'status' | 'refusal'>

/**
 * Store the progress of a simulation. Returns false if the simulation is no longer in the state `before`: another
 * process has continued it, or it was erased.
 */
export const saveProgress = (
  operator: Query,
  before: SimulationState,
  { doneCount, nextDay, sums, status, refusal }: SimulationProgress,
): Promise<boolean> =>
  hasRow(operator)(sql`
    update simulations set done_count = ${doneCount}, next_day = ${nextDay}, sums = ${sums}, status = ${status},
      refusal = ${refusal === null ? null : JSON.stringify(refusal)}, attempts = 0
    where ${isStill(before)} returning 1`)

/** Delete up to `limit` simulations that can no longer be read. Returns their number. */
export const deleteExpiredSimulations = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from simulations where ctid = any(array(
      select ctid from simulations where time_created <= ${toTimestamp(at - retentionMs)} limit ${limit}))`)
