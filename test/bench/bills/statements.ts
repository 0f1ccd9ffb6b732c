import { setTimeout as sleep } from 'node:timers/promises'
import { statementCreate } from '../../../services/contract/statements/statement-operations.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { pageBlocks, smallStatementBlock } from '../../../services/platform/clickhouse/meter-cost/statement-rows.ts'
import { readBatch, startBatch } from '../../support/statements/statement-batch.ts'
import { type Client, login } from '../../support/system/client.ts'
import type { BenchSystem, OpenBench } from '../bench-system.ts'
import { createFleet } from '../fleet/fleet.ts'
import { samplesSince, sumOf } from '../samples.ts'
import { medianOf } from '../statistics.ts'
import { addCharges, type BillRows, insertBillRows, sixCharges } from './bill-rows.ts'

/**
 * Times in ms of the statement of a month of 2,976 records with six charges. `clientMs`: over HTTP, median. `serverMs`:
 * on the server, mean. `engineMs`: the engine's time to read the rows, median. Promise P13.
 */
export type StatementFigures = { readonly clientMs: number; readonly serverMs: number; readonly engineMs: number }

/**
 * Statements per second of a batch over months of 744 records, and locations per second whose rows the engine returns.
 * `cpuMs`: CPU time of all processes for each statement. `memoryMb`: rise of the memory. Promise P14.
 */
export type BatchFigures = {
  readonly statementsPerSecond: number
  readonly enginePerSecond: number
  readonly cpuMs: number
  readonly memoryMb: number
}

const start = Date.UTC(2025, 0, 1)
const end = Date.UTC(2025, 1, 1)
const month = { start_date: '2025-01-01', end_date: '2025-02-01' }
const rounds = 30

const monthOf = (accountId: string, locations: readonly string[], count: number): BillRows => ({
  accountId,
  locations,
  start,
  count,
  lengthMs: (end - start) / count,
})

const medianMs = async (work: () => Promise<unknown>): Promise<number> => {
  const durations: number[] = []
  for (let round = -10; round < rounds; round += 1) {
    const startedAt = performance.now()
    await work()
    if (round >= 0) durations.push(performance.now() - startedAt)
  }
  return medianOf(durations)
}

/** Measure the statement of a month of quarter hours with six charges, of which two are for demand. Promise P13. */
export const statementFigures = async (open: OpenBench): Promise<StatementFigures> => {
  await using system = await open()
  const accountId = system.sandbox().account_id
  const first = await login(system.sandbox())
  const { locations } = await createFleet(first, 1, 0)
  const [location = ''] = locations
  await addCharges(first, locations, sixCharges)
  let engineMs = 0
  await system.fill(async db => {
    await insertBillRows(db, monthOf(accountId, locations, 2_976))
    const interval = { tenant: { accountId, liveMode: false }, locationId: location, from: start, to: end }
    const rows = { interval, sessions: null, earlier: null }
    engineMs = await medianMs(() => smallStatementBlock(db, rows, 400_000))
  })
  const client = await login(system.sandbox())
  const ask = () => client.ask('POST', `/statements/${location}`, month)
  await medianMs(ask)
  const before = await system.samples()
  const clientMs = await medianMs(ask)
  const samples = samplesSince(before, await system.samples())
  const of = `{operation="${statementCreate.id}"}`
  const [seconds, count] = ['sum', 'count'].map(
    part => samples.get(`wattledger_http_request_seconds_${part}${of}`) ?? 0,
  )
  return { clientMs, serverMs: ((seconds ?? 0) * 1000) / (count ?? 0), engineMs }
}

const locationsPerPage = 80

/** Return the locations per second whose rows the engine returns, some pages of locations one after the other. */
const engineRate = async (db: ClickHouse, accountId: string, locations: readonly string[]): Promise<number> => {
  const startedAt = performance.now()
  for (let at = 0; at < locations.length; at += locationsPerPage) {
    const locationIds = locations.slice(at, at + locationsPerPage)
    const page = { tenant: { accountId, liveMode: false }, locationIds, from: start, to: end }
    await pageBlocks(db, page)
  }
  return (locations.length * 1000) / (performance.now() - startedAt)
}

const memoryOf = async (system: BenchSystem): Promise<number> =>
  sumOf(await system.samples(), 'wattledger_process_resident_memory_bytes')

/** Wait until a batch is done. Returns the highest memory in bytes. Few requests, because they take CPU time. */
const peakUntilDone = async (system: BenchSystem, client: Client, batchId: string): Promise<number> => {
  for (let peak = 0; ; await sleep(200)) {
    peak = Math.max(peak, await memoryOf(system))
    const { status, failed_count: failed } = await readBatch(client, batchId)
    if (failed > 0) throw new Error(`${failed} statements of the batch failed.`)
    if (status !== 'RUNNING') return peak
  }
}

const cpuSecondsOf = async (system: BenchSystem): Promise<number> =>
  Object.values(await system.cpuSeconds()).reduce((sum, seconds) => sum + seconds, 0)

const charges = sixCharges.slice(0, 2)

/** Measure a batch of statements over locations of 744 records each, with two charges. Promise P14. */
export const batchFigures = async (open: OpenBench, locationCount: number): Promise<BatchFigures> => {
  await using system = await open()
  const accountId = system.sandbox().account_id
  const first = await login(system.sandbox())
  const { locations } = await createFleet(first, locationCount + 1, 0)
  await addCharges(first, locations, charges)
  const [warmUp = '', ...others] = locations
  let enginePerSecond = 0
  await system.fill(async db => {
    await insertBillRows(db, monthOf(accountId, locations, 744))
    enginePerSecond = await engineRate(db, accountId, others.toSorted())
  })
  const client = await login(system.sandbox())
  await client.ask('POST', `/statements/${warmUp}`, month)
  const [idle, cpuBefore] = [await memoryOf(system), await cpuSecondsOf(system)]
  const startedAt = performance.now()
  const { id } = await startBatch(client, { object_ids: others, ...month })
  const peak = await peakUntilDone(system, client, id)
  const seconds = (performance.now() - startedAt) / 1000
  const cpuMs = (((await cpuSecondsOf(system)) - cpuBefore) * 1000) / locationCount
  return {
    statementsPerSecond: locationCount / seconds,
    enginePerSecond,
    cpuMs,
    memoryMb: (peak - idle) / 2 ** 20,
  }
}
