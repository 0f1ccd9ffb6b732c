import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type JobEnd, startJobs } from '../../../../services/platform/jobs/jobs.ts'
import {
  type ClaimedExport,
  claimExport,
  createExport,
  exportJobs,
  finishExport,
} from '../../../../services/platform/postgres/exports/exports.ts'
import { extendJob, releaseJob } from '../../../../services/platform/postgres/jobs.ts'
import { withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { makeTenants, openTestDatabase } from '../../../support/stores/postgres.ts'
import { until } from '../../../support/system/until.ts'

const opened = await openTestDatabase()
const { database, address } = opened
const { operator } = database
const { live } = await makeTenants(database)
afterAll(() => opened[Symbol.asyncDispose]())
beforeEach(() => operator(sql`delete from exports`))

const at = 1_780_000_000_000
const limits = { unfinished: 1_000, bytes: 1, retentionMs: 1_000 }
const refusal = { code: 'internal_error', message: 'The test ended it.' } as const
const idOf = (index: number): string => `exp_${String(index).padStart(24, '0')}`

const create = async (count: number): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, (_, index) => idOf(index))
  for (const id of ids)
    await withTenant(database, live, transaction =>
      createExport(transaction, { id, request: '{}', actor: 'key_1' }, limits, at),
    )
  return ids
}
const claim = async (durationMs = 60_000): Promise<ClaimedExport> =>
  (await claimExport(operator, durationMs)) ?? expect.fail('no export is due')

type Row = { readonly id: string; readonly status: string; readonly attempts: number; readonly claim: string | null }
const rows = async (): Promise<readonly Row[]> =>
  (await operator<Row>(sql`select id, status, attempts, claim from exports order by id`)).rows
const leftMs = async (): Promise<number> => {
  const { rows: found } = await operator<{ ms: number }>(
    sql`select (extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as ms from exports`,
  )
  return found[0]?.ms ?? expect.fail('no export')
}
/** Make all jobs due, as after the end of their claims. */
const expire = () => operator(sql`update exports set due_at = clock_timestamp() where finished_at is null`)

const startProcess = (shiftMs: number, workMs: number) => {
  const file = join(import.meta.dirname, 'job-process.ts')
  const child = spawn(process.execPath, [file, JSON.stringify(address), String(shiftMs), String(workMs)])
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', line => void lines.push(line))
  const kill = async (): Promise<void> => {
    const exited = once(child, 'exit')
    if (child.exitCode === null && child.kill('SIGKILL')) await exited
  }
  return { lines, [Symbol.asyncDispose]: kill }
}

const start = (run: (job: ClaimedExport, signal: AbortSignal) => Promise<JobEnd>, isOutage = false) =>
  startJobs(
    { database, logger: { warn: () => undefined } },
    {
      name: 'exports',
      kind: exportJobs,
      run,
      isOutage: () => isOutage,
      claims: [durationMs => claimExport(operator, durationMs)],
    },
  )

describe('the claim of a job', () => {
  it('is extended, released and ended only by its owner', async () => {
    await create(1)
    const first = await claim(0)
    const second = await claim()
    expect([first.id, first.attempts, second.id, second.attempts]).toEqual([idOf(0), 1, idOf(0), 2])
    const before = await rows()
    expect(await extendJob(operator, exportJobs, first, 600_000)).toBe(false)
    expect(await leftMs()).toBeLessThan(61_000)
    expect(await releaseJob(operator, exportJobs, first, { pauseMs: 0, isCounted: false })).toBe(false)
    expect(await finishExport(operator, first, { refusal }, at)).toBe(false)
    expect(await rows()).toEqual(before)
    expect(await extendJob(operator, exportJobs, second, 600_000)).toBe(true)
    expect(await leftMs()).toBeGreaterThan(500_000)
    expect(await finishExport(operator, second, { refusal }, at)).toBe(true)
    expect(await finishExport(operator, second, { refusal }, at)).toBe(false)
    expect(await extendJob(operator, exportJobs, second, 0)).toBe(false)
  })

  it('is one of one process if many claim at the same time, and is due again after a release', async () => {
    const ids = await create(3)
    const claimed = await Promise.all(Array.from({ length: 8 }, () => claimExport(operator, 60_000)))
    expect(claimed.flatMap(job => (job === null ? [] : [job.id])).toSorted()).toEqual(ids)
    const [one] = claimed.filter(job => job !== null)
    if (one === undefined) throw new Error('no export is claimed')
    await releaseJob(operator, exportJobs, one, { pauseMs: 0, isCounted: false })
    expect(await claim()).toMatchObject({ id: one.id, attempts: 1 })
  })
})

describe('the loop of jobs', () => {
  it('ends each job once in two processes with clocks of ±1 h, also after a kill', { timeout: 60_000 }, async () => {
    const ids = await create(20)
    const killed = startProcess(3_600_000, 60_000)
    await until(
      async () => killed.lines,
      lines => lines.length > 0,
      20_000,
    )
    await killed[Symbol.asyncDispose]()
    const [started] = killed.lines
    await using ahead = startProcess(3_600_000, 20)
    await using behind = startProcess(-3_600_000, 20)
    const ended = () => [...ahead.lines, ...behind.lines].filter(line => line.startsWith('end '))
    await until(
      async () => ended().length,
      count => count >= 19,
      30_000,
    )
    expect(started).toBe(`start ${(await rows()).find(({ status }) => status === 'RUNNING')?.id}`)
    await expire()
    await until(
      async () => ended().length,
      count => count >= 20,
      10_000,
    )
    expect(
      ended()
        .map(line => line.slice(4))
        .toSorted(),
    ).toEqual(ids)
    for (const { lines } of [ahead, behind]) {
      expect(lines.some(line => line.startsWith('end '))).toBe(true)
      expect(lines.filter(line => line === 'warning' || line.startsWith('lost'))).toEqual([])
    }
    const attempts = (await rows()).map(row => [row.id, row.attempts])
    expect(attempts).toEqual(ids.map(id => [id, started === `start ${id}` ? 2 : 1]))
  })

  it('extends the claim, and stops a job whose claim was lost', { timeout: 20_000 }, async () => {
    await create(1)
    const stopped = Promise.withResolvers<{ readonly job: ClaimedExport; readonly isAborted: boolean }>()
    await using _ = start(async (job, signal) => {
      await sleep(15_000, undefined, { signal }).catch(() => undefined)
      stopped.resolve({ job, isAborted: signal.aborted })
      throw signal.reason
    })
    await until(rows, ([row]) => row?.status === 'RUNNING')
    await operator(sql`update exports set due_at = clock_timestamp() + interval '2 minutes'`)
    await until(leftMs, ms => ms > 10_000 && ms < 15_500, 8_000)
    await expire()
    const other = await claim()
    const { job, isAborted } = await stopped.promise
    expect([isAborted, job.id, job.attempts, other.attempts]).toEqual([true, other.id, 1, 2])
    await sleep(100)
    expect(await rows()).toMatchObject([{ status: 'RUNNING', attempts: 2, claim: other.claim }])
  })

  it.each([
    ['counts a failure of the job', new Error('broken'), false, 1],
    ['counts no failure of a store', new Error('away'), true, 0],
    ['counts no turn that ends early', null, false, 0],
  ])('%s', async (_, failure, isOutage, attempts) => {
    await create(1)
    const counted: number[] = []
    await using _loop = start(async job => {
      counted.push(job.attempts)
      if (failure !== null) throw failure
      return 'LATER'
    }, isOutage)
    await until(
      async () => counted.length,
      count => count > 0,
    )
    const [released] = await until(rows, ([row]) => row?.status === 'PENDING')
    expect([counted, released?.attempts, released?.claim]).toEqual([[1], attempts, null])
  })

  it('releases its job without an attempt if the process stops', async () => {
    await create(1)
    const loop = start(async (_, signal) => {
      await sleep(60_000, undefined, { signal })
      return 'ENDED'
    })
    await until(rows, ([row]) => row?.status === 'RUNNING')
    await loop[Symbol.asyncDispose]()
    expect(await rows()).toMatchObject([{ status: 'PENDING', attempts: 0, claim: null }])
    expect((await claim()).attempts).toBe(1)
  })

  it('looks for jobs at once after a wake, in a pause and in a turn', async () => {
    let looked = 0
    await using loop = startJobs(
      { database, logger: { warn: () => undefined } },
      {
        name: 'exports',
        kind: exportJobs,
        run: async () => 'ENDED',
        isOutage: () => false,
        claims: [
          async () => {
            looked += 1
            if (looked > 1 && looked < 10) loop.wake()
            return null
          },
        ],
      },
    )
    const startedAt = performance.now()
    for (let wakes = 0; wakes < 10; wakes += 1) {
      const before = looked
      await sleep(20)
      loop.wake()
      await until(
        async () => looked,
        count => count > before,
      )
    }
    expect(looked).toBeGreaterThan(15)
    // Without wakes each look follows after a pause of 1 s.
    expect(performance.now() - startedAt).toBeLessThan(6_000)
  })
})
