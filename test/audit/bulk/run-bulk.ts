import { openClickHouseHttp } from '../../../services/platform/clickhouse/clickhouse-http.ts'
import { forEachConcurrently } from '../../support/ledger/audit.ts'
import { makeLocation } from '../../support/ledger/fleet.ts'
import type { LedgerLocation } from '../../support/ledger/journal.ts'
import { seededRandom } from '../../support/random.ts'
import { type Client, login } from '../../support/system/client.ts'
import { dataFolder, removeData } from '../../support/system/running-system.ts'
import { listDeadLetters } from '../audited-system.ts'
import { type DistributedAuditedSystem, distributedSystem } from '../distributed/distributed-system.ts'
import type { AuditOptions } from '../options.ts'
import { type Observer, runLoad } from '../run-audit.ts'
import { changeWorkers, type WorkerChanges } from './change-workers.ts'
import { type BulkSubmission, planBulk } from './plan-bulk.ts'
import { type BulkProgress, sendBulk } from './send-bulk.ts'
import { type BulkVerdict, verifyBulk } from './verify-bulk.ts'

/** Counts of the load, of the faults and of the changes of workers. */
export type BulkCounts = BulkProgress & {
  readonly faults: string[]
  readonly workerChanges: WorkerChanges
  readonly failedStops: string[]
  seconds: number
}

/** Open bulk audit. `load` sends everything once; `verify` follows. */
export type BulkAudit = AsyncDisposable & {
  readonly folder: string
  readonly progress: BulkCounts
  readonly load: () => Promise<void>
  readonly verify: () => Promise<BulkVerdict>
  readonly keepData: () => void
}

/** Bulk audit with its system and plan. */
type BulkRun = {
  readonly system: DistributedAuditedSystem
  readonly options: AuditOptions
  readonly observe: Observer
  readonly locations: readonly LedgerLocation[]
  readonly submissions: readonly BulkSubmission[]
  readonly progress: BulkCounts
}

const createLocations = async (client: Client, { locations: count, seed }: AuditOptions, observe: Observer) => {
  const locations = new Map<number, LedgerLocation>()
  await forEachConcurrently([...Array(count).keys()], async index => {
    locations.set(index, await makeLocation(client, seededRandom(seed + index)))
    observe('fixture', locations.size, count)
  })
  return [...locations].sort(([a], [b]) => a - b).map(([, location]) => location)
}

/** Send everything while faults are injected and workers join and leave. */
const load = async ({
  system,
  options: { seed, kills, connections },
  observe,
  submissions,
  progress,
}: BulkRun): Promise<void> => {
  const total = submissions.reduce((sum, { records }) => sum + records.length, 0)
  const startedAt = performance.now()
  const { workerChanges, failedStops } = progress
  await runLoad({
    system,
    random: seededRandom(seed + 1),
    progress,
    kills,
    total,
    observe,
    send: () => sendBulk(system, progress, submissions, connections),
    during: signal => changeWorkers(() => system.join('cost-worker'), { workerChanges, failedStops, signal }),
  })
  progress.seconds = (performance.now() - startedAt) / 1_000
}

const verify = async ({ system, observe, locations, submissions, progress }: BulkRun): Promise<BulkVerdict> => {
  await using input = new AsyncDisposableStack()
  const sandbox = system.sandbox()
  const connection = {
    url: system.engineUrl,
    user: 'default',
    password: '',
    database: 'default',
    ca: null,
    isReplicated: false,
  }
  const db = input.adopt(openClickHouseHttp(connection), one => one.close())
  const tenant = { accountId: sandbox.account_id, liveMode: false }
  const verdict = await verifyBulk({
    client: await login(sandbox),
    db,
    tenant,
    locations,
    submissions,
    sent: progress,
    observe,
  })
  const deadLettered = (await listDeadLetters(sandbox)).map(
    ({ id, code, reason }) =>
      ({ kind: 'deadLetter', subject: id, expected: 'no dead letter', found: `${code}: ${reason}` }) as const,
  )
  const stops = [...system.failedStops(), ...progress.failedStops].map(
    found => ({ kind: 'stop', subject: 'a process', expected: '0 within 15 s of SIGTERM', found }) as const,
  )
  return { ...verdict, differences: [...verdict.differences, ...deadLettered, ...stops] }
}

/** Open a bulk audit on a new data folder: start a distributed system and create locations. */
export const openBulk = async (options: AuditOptions, observe: Observer): Promise<BulkAudit> => {
  const folder = dataFolder()
  let { isDataRetained } = options
  await using opening = new AsyncDisposableStack()
  opening.defer(() => {
    if (!isDataRetained) removeData(folder)
  })
  const system = opening.use(await distributedSystem(folder))
  const locations = await createLocations(await system.start(), options, observe)
  const submissions = planBulk(seededRandom(options.seed), locations, options.records)
  const progress: BulkCounts = {
    records: 0,
    sent: 0,
    uncertain: 0,
    repeated: 0,
    receipts: [],
    refused: [],
    seconds: 0,
    faults: [],
    workerChanges: { joins: 0, stops: 0, kills: 0 },
    failedStops: [],
  }
  const running: BulkRun = { system, options, observe, locations, submissions, progress }
  const open = opening.move()
  return {
    folder,
    progress,
    load: () => load(running),
    verify: () => verify(running),
    keepData: () => {
      isDataRetained = true
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
