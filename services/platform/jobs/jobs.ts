import type { Database } from '../postgres/database.ts'
import { type ClaimedJob, extendJob, type JobKind, releaseJob } from '../postgres/jobs.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Loop, startLoop } from './loop.ts'

/** End of a turn. LATER: a store is unavailable, so the job is due again after a pause, and no attempt counts. */
export type JobEnd = 'ENDED' | 'LATER'

/** Work on the stored jobs of a kind. */
export type JobWork<Job extends ClaimedJob> = {
  /** Name of the work in the log. */
  readonly name: string
  readonly kind: JobKind<Job>
  /** Ways to claim a job for some ms. The process works on one job at a time for each of them. */
  readonly claims: readonly ((durationMs: number) => Promise<Job | null>)[]
  /** Work on a job and store its end or progress. The signal is aborted if the process stops or the claim is lost. */
  readonly run: (job: Job, signal: AbortSignal) => Promise<JobEnd>
  /** Return whether an error has a cause outside of the job, so that no attempt counts. */
  readonly isOutage: (error: unknown) => boolean
  /**
   * Extend a claim, if more than the claim is extended. Returns false if the claim was lost. Can abort the job for
   * another reason, which becomes the reason of the signal.
   */
  readonly extend?: (job: Job, durationMs: number, abort: (reason: unknown) => void) => Promise<boolean>
}

export type JobDependencies = { readonly database: Pick<Database, 'operator'>; readonly logger: Pick<Logger, 'warn'> }

/** Time in ms for which a claim is valid after its last extension. */
const claimMs = 15_000
const extensionMs = claimMs / 5
/** Pause in ms if no job is due. */
const restMs = 1_000
/** Pause in ms before the next attempt. */
const retryMs = 2_000

const runClaimed = async <Job extends ClaimedJob>(
  { database: { operator } }: JobDependencies,
  { kind, run, isOutage, extend = (job, ms) => extendJob(operator, kind, job, ms) }: JobWork<Job>,
  job: Job,
  stopping: AbortSignal,
): Promise<void> => {
  const ended = new AbortController()
  const keep = async (): Promise<void> => {
    if (!(await extend(job, claimMs, reason => ended.abort(reason)))) ended.abort()
  }
  // An extension that fails loses no claim: the next one can succeed.
  const timer = setInterval(() => void keep().catch(() => undefined), extensionMs)
  try {
    const end = await run(job, AbortSignal.any([stopping, ended.signal]))
    if (end === 'LATER') await releaseJob(operator, kind, job, { pauseMs: retryMs, isCounted: false })
  } catch (error) {
    const isCounted = !stopping.aborted && !isOutage(error)
    const isOurs = await releaseJob(operator, kind, job, { pauseMs: stopping.aborted ? 0 : retryMs, isCounted })
    if (isOurs) throw error
  } finally {
    clearInterval(timer)
  }
}

/**
 * Work on the jobs of a kind. Each process of the query service does it: a claim gives a job to one process. After a
 * crash the claim expires by the clock of the database, and another process repeats the job. So every job must be
 * repeatable, and its end is stored only under its claim.
 * Source: docs/architecture.md #jobs.
 */
export const startJobs = <Job extends ClaimedJob>(dependencies: JobDependencies, work: JobWork<Job>): Loop => {
  const loops = work.claims.map(claim =>
    startLoop({
      name: work.name,
      logger: dependencies.logger,
      turn: async signal => {
        const job = await claim(claimMs)
        if (job === null) return restMs
        await runClaimed(dependencies, work, job, signal)
        return 0
      },
    }),
  )
  return {
    wake: () => {
      for (const loop of loops) loop.wake()
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(loops.map(loop => loop[Symbol.asyncDispose]()))
    },
  }
}
