import sql from 'sql-template-tag'
import type { Refusal } from '../../../domain/refusal.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst } from '../database.ts'
import { type ClaimedJob, changeJob, claimJob, type JobKind } from '../jobs.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

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

/** Unfinished simulation that a process has claimed. */
export type ClaimedSimulation = ClaimedJob & Pick<StoredSimulation, 'id' | 'request' | 'doneCount' | 'nextDay' | 'sums'>

/** Simulations as jobs. */
export const simulationJobs: JobKind<ClaimedSimulation> = {
  table: 'simulations',
  key: sql`account_id, live_mode, id`,
  keyOf: ({ accountId, liveMode, id }) => sql`${accountId}, ${liveMode}, ${id}`,
  isOpen: sql`status = 'PENDING'`,
  columns: sql`id, request, done_count as "doneCount", next_day as "nextDay", sums`,
}

/**
 * Claim a simulation for `durationMs`; null if none is due. Accounts take turns: only the oldest unfinished simulation of
 * an account is due, and the account whose last turn ended first is next.
 */
export const claimSimulation = (operator: Query, durationMs: number): Promise<ClaimedSimulation | null> => {
  const next = sql`
    select ${simulationJobs.key} from simulations one
    where ${simulationJobs.isOpen} and due_at <= clock_timestamp() and not exists (
      select from simulations older
      where older.account_id = one.account_id and older.id < one.id and older.status = 'PENDING')
    order by (select max(due_at) from simulations mine where mine.account_id = one.account_id)`
  return claimJob(operator, simulationJobs, next, durationMs)
}

/** Progress of a simulation after some work. */
export type SimulationProgress = Pick<StoredSimulation, 'doneCount' | 'nextDay' | 'sums' | 'status' | 'refusal'>

/**
 * Store the progress of a claimed simulation and end the claim: it is due again behind those of other accounts. Its
 * attempts begin again. Returns false if the claim was lost or the simulation erased.
 */
export const saveProgress = (
  operator: Query,
  claimed: ClaimedSimulation,
  { doneCount, nextDay, sums, status, refusal }: SimulationProgress,
): Promise<boolean> =>
  changeJob(
    operator,
    simulationJobs,
    claimed,
    sql`done_count = ${doneCount}, next_day = ${nextDay}, sums = ${sums}, status = ${status},
      refusal = ${refusal === null ? null : JSON.stringify(refusal)}, attempts = 0, claim = null,
      due_at = clock_timestamp()`,
  )

/** Delete up to `limit` simulations that can no longer be read. Returns their number. */
export const deleteExpiredSimulations = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from simulations where ctid = any(array(
      select ctid from simulations where time_created <= ${toTimestamp(at - retentionMs)} limit ${limit}))`)
