import { randomUUID } from 'node:crypto'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Tenant } from '../../domain/tenant.ts'
import { countRows, type Query, readFirst } from './database.ts'

/** Job that a process has claimed. `attempts`: claims that did not end it, this one included. */
export type ClaimedJob = Tenant & { readonly claim: string; readonly attempts: number }

/**
 * Kind of stored jobs: rows that processes claim. The table has the columns `claim`, `due_at` and `attempts`. A claimed
 * row is due again at the end of its claim.
 */
export type JobKind<Job extends ClaimedJob> = {
  readonly table: string
  /** Columns of the primary key, and their values for a job. */
  readonly key: Sql
  readonly keyOf: (job: Job) => Sql
  /** Condition for jobs that have not ended. */
  readonly isOpen: Sql
  /** Other columns of a claimed job; the table has the alias `job`. */
  readonly columns: Sql
  /** More assignments of a claim and of a release. Each begins with a comma. */
  readonly onClaim?: Sql
  readonly onRelease?: Sql
}

/** Instant after some ms, by the clock of the database. */
const after = (durationMs: number): Sql => sql`clock_timestamp() + ${durationMs} * interval '1 millisecond'`

/**
 * Claim a job for `durationMs`, by the clock of the database; null if there is none. `next` selects the keys of due jobs
 * in their order. `before`: common table expressions that `next` reads. Jobs that other processes claim are skipped.
 */
export const claimJob = <Job extends ClaimedJob>(
  operator: Query,
  kind: JobKind<Job>,
  next: Sql,
  durationMs: number,
  before = empty,
): Promise<Job | null> =>
  readFirst(operator)<Job>(sql`
    ${before} update ${raw(kind.table)} job
    set claim = ${randomUUID()}, attempts = attempts + 1, due_at = ${after(durationMs)}${kind.onClaim ?? empty}
    where (${kind.key}) = (${next} limit 1 for update skip locked)
    returning account_id as "accountId", live_mode as "liveMode", claim, attempts, ${kind.columns}`)

/** Change a job that is still claimed. Returns false if the claim was lost, or if the job ended or was deleted. */
export const changeJob = async <Job extends ClaimedJob>(
  operator: Query,
  kind: JobKind<Job>,
  job: Job,
  assignments: Sql,
): Promise<boolean> =>
  (await countRows(operator)(sql`
    update ${raw(kind.table)} set ${assignments}
    where (${kind.key}) = (${kind.keyOf(job)}) and claim = ${job.claim} and ${kind.isOpen}`)) > 0

/** Extend a claim by `durationMs`. `progress`: more assignments, with a comma before each. */
export const extendJob = <Job extends ClaimedJob>(
  operator: Query,
  kind: JobKind<Job>,
  job: Job,
  durationMs: number,
  progress = empty,
): Promise<boolean> => changeJob(operator, kind, job, sql`due_at = ${after(durationMs)}${progress}`)

/** Make a claimed job due again after `pauseMs`. `isCounted`: the attempt counts. */
export const releaseJob = <Job extends ClaimedJob>(
  operator: Query,
  kind: JobKind<Job>,
  job: Job,
  { pauseMs, isCounted }: { readonly pauseMs: number; readonly isCounted: boolean },
): Promise<boolean> =>
  changeJob(
    operator,
    kind,
    job,
    sql`claim = null, due_at = ${after(pauseMs)}, attempts = attempts - ${isCounted ? 0 : 1}${kind.onRelease ?? empty}`,
  )
