import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import sql from 'sql-template-tag'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { BatchFailure } from '../../../../../services/domain/statement/statement-batch.ts'
import { batchRetentionMs } from '../../../../../services/domain/statement/statement-batch.ts'
import { newId } from '../../../../../services/platform/ids/new-id.ts'
import { releaseJob } from '../../../../../services/platform/postgres/jobs.ts'
import { eraseBatches } from '../../../../../services/platform/postgres/statements/erase-batches.ts'
import {
  type ClaimedPage,
  claimPage,
  createBatch,
  deleteExpiredBatches,
  findBatch,
  finishPage,
  pageJobs,
  readExportPage,
  readFailures,
  stopBatch,
} from '../../../../../services/platform/postgres/statements/statement-batches.ts'
import {
  changeTenant,
  type Tenant,
  withOperator,
  withTenant,
} from '../../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { makeTenants, openTestDatabase } from '../../../../support/stores/postgres.ts'

const at = 1_780_000_000_000
const opened = await openTestDatabase()
const { database } = opened
const { live: tenant, test: other } = await makeTenants(database)
afterAll(() => opened[Symbol.asyncDispose]())
beforeEach(() => database.operator(sql`delete from statement_batches`))

const order = { request: '{}', finalises: false, allowsGaps: false, actor: 'key_1' }
const locations = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `loc_${String(n).padStart(24, '0')}`)

const create = (ids: readonly string[], owner: Tenant = tenant) =>
  changeTenant(database, owner, transaction => createBatch(transaction, newId('statementBatch', at), order, ids, at))
const start = async (count: number, owner: Tenant = tenant): Promise<string> =>
  acceptedValue(await create(locations(count), owner)).id

const claim = async (): Promise<ClaimedPage> => (await claimPage(database.operator, 60_000)) ?? expect.fail('no page')
const linesOf = (ids: readonly string[]): string =>
  ids.map(id => `{"id":"stm_1","status":"DRAFT","location_id":"${id}"}\n`).join('')
const finish = (page: ClaimedPage, processed = page.locationIds.length, failures: readonly BatchFailure[] = []) =>
  withOperator(database, ({ query }) => {
    const ids = page.locationIds.slice(failures.length, processed)
    const answers = zstdCompressSync(linesOf(ids))
    const result = { processed, done: ids.length, failures, answers, deviceIds: [], attempts: 0, pauseMs: 0 }
    return finishPage(query, page, result, at)
  })
const find = (id: string) => withTenant(database, tenant, transaction => findBatch(transaction, id, at))

describe('a batch of statements', () => {
  it('has pages of 80 locations, each claimed once', async () => {
    const id = await start(210)
    const pages = [await claim(), await claim(), await claim()]
    expect(pages.map(({ firstIndex, locationIds }) => [firstIndex, locationIds.length])).toEqual([
      [0, 80],
      [80, 80],
      [160, 50],
    ])
    expect(pages.flatMap(({ locationIds }) => locationIds)).toEqual(locations(210))
    expect(await claimPage(database.operator, 60_000)).toBeNull()
    for (const page of pages) expect(await finish(page)).toBe(true)
    expect(await find(id)).toMatchObject({ status: 'DONE', total: 210, done: 210, failed: 0 })
  })

  it('runs at most twice at a time, also if the requests come together', async () => {
    const results = await Promise.all(Array.from({ length: 5 }, () => create(locations(1))))
    expect(results.filter(({ ok }) => ok)).toHaveLength(2)
    const [refusal] = results.flatMap(result => (result.ok ? [] : [result.refusal]))
    expect(refusal?.code).toBe('too_many_batches')
    expect((await create(locations(1), other)).ok).toBe(true)
    expect(await finish(await claim())).toBe(true)
    expect((await create(locations(1))).ok).toBe(true)
  })

  it('is DONE at once without locations', async () => {
    const id = acceptedValue(await create([])).id
    expect(await find(id)).toMatchObject({ status: 'DONE', total: 0 })
  })

  it('counts a page once if two processes finish it', async () => {
    const id = await start(3)
    const first = (await claimPage(database.operator, 0)) ?? expect.fail('no page')
    const second = await claim()
    expect(second.locationIds).toEqual(first.locationIds)
    expect([first.attempts, second.attempts]).toEqual([1, 2])
    const finishOrUndo = (page: ClaimedPage) =>
      withOperator(database, async ({ query }) => {
        const result = {
          processed: 3,
          done: 3,
          failures: [],
          answers: Buffer.alloc(0),
          deviceIds: [],
          attempts: 0,
          pauseMs: 0,
        }
        if (!(await finishPage(query, page, result, at))) throw new Error('lost')
      })
    await expect(finishOrUndo(first)).rejects.toThrow('lost')
    await finishOrUndo(second)
    await expect(finishOrUndo(second)).rejects.toThrow('lost')
    expect(await find(id)).toMatchObject({ status: 'DONE', done: 3 })
  })

  it('leaves the locations that were not processed to a new page', async () => {
    const id = await start(5)
    const failure = { locationId: locations(1)[0] ?? '', code: 'statement_overlap', message: 'Other days.' } as const
    expect(await finish(await claim(), 2, [failure])).toBe(true)
    expect(await find(id)).toMatchObject({ status: 'RUNNING', done: 1, failed: 1 })
    const rest = await claim()
    expect([rest.firstIndex, rest.locationIds, rest.attempts]).toEqual([2, locations(5).slice(2), 1])
    await finish(rest)
    expect(await find(id)).toMatchObject({ status: 'DONE', done: 4, failed: 1 })
    expect(await withTenant(database, tenant, tx => readFailures(tx, id, 10))).toEqual([failure])
    const pages = []
    for (let after = -1; ; ) {
      const page = await withTenant(database, tenant, tx => readExportPage(tx, id, after))
      if (page === null) break
      after = page.firstIndex
      pages.push(zstdDecompressSync(page.answers).toString())
    }
    expect(pages.join('')).toBe(linesOf(locations(5).slice(1)))
  })

  it('counts an attempt only if it failed by itself', async () => {
    await start(1)
    await releaseJob(database.operator, pageJobs, await claim(), { pauseMs: 0, isCounted: false })
    await releaseJob(database.operator, pageJobs, await claim(), { pauseMs: 0, isCounted: true })
    expect(await claimPage(database.operator, 60_000, { onlyFirst: true })).toBeNull()
    expect((await claim()).attempts).toBe(2)
  })

  it('shares the work between accounts', async () => {
    const [a, b] = [await start(200), await start(200)]
    const c = await start(200, other)
    const order = []
    for (let n = 0; n < 4; n += 1) order.push((await claim()).batchId)
    // Both modes of an account share its turns.
    expect(new Set(order.slice(0, 3))).toEqual(new Set([a, b, c]))
  })

  it('stops with all that it has calculated', async () => {
    const id = await start(200)
    expect(await finish(await claim())).toBe(true)
    const running = await claim()
    expect(await withTenant(database, tenant, tx => stopBatch(tx, id, at))).toBe(true)
    expect(await finish(running)).toBe(false)
    expect(await find(id)).toMatchObject({ status: 'STOPPED', done: 80 })
    expect(await withTenant(database, tenant, tx => readExportPage(tx, id, -1))).toBeNull()
    expect(await withTenant(database, tenant, tx => stopBatch(tx, id, at))).toBe(true)
    expect(await withTenant(database, other, tx => stopBatch(tx, id, at))).toBe(false)
  })

  it('is deleted 30 days after its end', async () => {
    const id = await start(1)
    await finish(await claim())
    const { finishedAt } = (await find(id)) ?? expect.fail()
    const end = (finishedAt ?? 0) + batchRetentionMs
    expect(await deleteExpiredBatches(database.operator, end - 1, 10)).toBe(0)
    expect(await withTenant(database, tenant, tx => findBatch(tx, id, end + 1))).toBeNull()
    expect(await deleteExpiredBatches(database.operator, end + 1, 10)).toBe(1)
    const { rows } = await database.operator(sql`select 1 from statement_batch_pages`)
    expect(rows).toEqual([])
  })
})

describe('an erasure', () => {
  const device = `dev_${'1'.repeat(24)}`
  const kept = `dev_${'2'.repeat(24)}`
  const user = (id: string) => `{"device_id":"${id}","session_reference_id":"s ${id}"}`
  const line = (status: string, location: string) =>
    `{"id":"stm_1","status":"${status}","location_id":"${location}","users":[${user(device)},${user(kept)}]}\n`

  it('removes drafts of erased locations and erased devices from exports', async () => {
    const [draft = '', final = '', others = ''] = locations(3)
    const id = await start(3)
    const page = await claim()
    await withOperator(database, ({ query }) => {
      const answers = zstdCompressSync(line('DRAFT', draft) + line('FINAL', final) + line('DRAFT', others))
      const result = {
        processed: 3,
        done: 3,
        failures: [],
        answers,
        deviceIds: [device, kept],
        attempts: 0,
        pauseMs: 0,
      }
      return finishPage(query, page, result, at)
    })
    const erase = (locationIds: readonly string[], deviceIds: readonly string[]) =>
      withOperator(database, transaction =>
        eraseBatches(transaction, tenant, { locationIds, deviceIds, receiptsBefore: null }),
      )
    await erase([draft, final], [device])
    await erase([draft, final], [device])
    const stored = await withTenant(database, tenant, tx => readExportPage(tx, id, -1))
    const none = '{"device_id":null,"session_reference_id":null}'
    const members = `"location_id":"${final}","users":[${none},${none}]`
    expect(zstdDecompressSync(stored?.answers ?? Buffer.alloc(0)).toString()).toBe(
      `{"id":"stm_1","status":"FINAL","redacted":true,${members}}\n{"id":"stm_1","status":"DRAFT","location_id":"${others}","users":[${none},${user(kept)}]}\n`,
    )
    const { rows } = await database.operator<{ row: string }>(
      sql`select to_jsonb(p)::text as row from statement_batch_pages p`,
    )
    for (const gone of [draft, final, device]) expect(rows[0]?.row).not.toContain(gone)
    expect(rows[0]?.row).toContain(kept)
  })
})
