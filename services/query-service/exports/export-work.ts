import { rm } from 'node:fs/promises'
import { type ExportInput, type ExportManifest, exportLimits } from '../../contract/exports/export.ts'
import type { Caller } from '../../contract/operation.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import { isFailure } from '../../platform/failure.ts'
import { type JobEnd, startJobs } from '../../platform/jobs/jobs.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import { type Log, recordTopic } from '../../platform/log/log.ts'
import {
  type ClaimedExport,
  claimExport,
  deleteExpiredExports,
  exportJobs,
  extendExport,
  finishExport,
  knownClaims,
} from '../../platform/postgres/exports/exports.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { version } from '../../platform/version.ts'
import type { CostDependencies } from '../dependencies.ts'
import { type ExportClaim, type ExportFolder, sha256Of, sizeOf } from './export-folder.ts'
import { type ExportedOperations, writeCosts, writeObjects } from './write-objects.ts'
import { type WrittenTable, writeRecords } from './write-records.ts'

export type ExportWorkDependencies = CostDependencies & {
  readonly log: Pick<Log, 'partitions' | 'lag'>
  readonly logger: Pick<Logger, 'warn'>
  readonly folder: ExportFolder
  readonly operations: ExportedOperations
  readonly at: () => number
}

/** Interval in ms in which files without an export are deleted. */
const sweepMs = 5_000
/** Claims after which an export fails: a file that ends its process would otherwise be written for ever. */
const maxAttempts = 5
/** Failures that an export can cause by its size. They count as attempts, so that it does not repeat for ever. */
const ownFailures: readonly string[] = ['export_differs', 'clickhouse_busy', 'clickhouse_timeout']
/** Disk space in bytes that exports leave to the stores. */
const minFreeBytes = 1_024 * 2 ** 20
/** Group of the cost workers, whose offsets are the positions of stored records. */
const workerGroup = 'cost-worker'
const maxExpired = 100

const tooLarge = refused(
  'too_many_exports',
  'The file has more bytes than the 20 GiB of the account or the disk allow. Export a shorter period',
).refusal
const broken = refused('internal_error', 'The file could not be written. Create the export again, or report it').refusal

/** Positions of the partitions before which all records are stored. */
const readLanes = async ({ log }: ExportWorkDependencies): Promise<ExportManifest['lanes']> => {
  const lanes = Array.from({ length: log.partitions(recordTopic) }, (_, lane) => lane)
  return Promise.all(
    lanes.map(async lane => {
      const { committed } = await log.lag(recordTopic, lane, workerGroup)
      return { lane, position: String(committed) }
    }),
  )
}

const filterNames = [
  'location_id',
  'device_id',
  'customer_id',
  'session_reference_id',
  'pieces',
  'raw',
  'aggregation',
  'tariff_direction',
  'currency_code',
] as const

const filtersOf = (input: ExportInput): Readonly<Record<string, string>> =>
  Object.fromEntries(filterNames.flatMap(name => (input[name] === undefined ? [] : [[name, String(input[name])]])))

const writeTable = (
  dependencies: ExportWorkDependencies,
  { accountId, liveMode, actor }: ClaimedExport,
  input: ExportInput,
  path: string,
  signal: AbortSignal,
): Promise<Result<WrittenTable>> => {
  const tenant = { accountId, liveMode }
  if (input.kind === 'records') return writeRecords(dependencies, tenant, input, path, signal)
  const caller: Caller = { ...tenant, keyId: actor, scope: 'read', defaultApiVersion: 'current' }
  const order = { caller, at: dependencies.at(), input, path, signal }
  return input.kind === 'costs' ? writeCosts(dependencies, order) : writeObjects(dependencies, order)
}

const fileOf = ({ id, claim, request }: ClaimedExport): ExportClaim => ({
  id,
  claim,
  format: (JSON.parse(request) as ExportInput).format,
})

/** Write the file of an export under its final name. Returns its manifest, or the refusal of the request. */
const writeFile = async (
  dependencies: ExportWorkDependencies,
  claimed: ClaimedExport,
  file: ExportClaim,
  signal: AbortSignal,
): Promise<Result<ExportManifest>> => {
  const input = JSON.parse(claimed.request) as ExportInput
  const { folder, at } = dependencies
  const path = folder.partOf(file)
  const lanes = await readLanes(dependencies)
  const written = await writeTable(dependencies, claimed, input, path, signal)
  if (!written.ok) return written
  const { rows, sums, columns } = written.value
  const manifest: ExportManifest = {
    kind: input.kind,
    format: input.format,
    span: { start_time: writeInstant(input.start_time.at), end_time: writeInstant(input.end_time.at) },
    filters: filtersOf(input),
    rows,
    sums,
    sha256: await sha256Of(path, signal),
    bytes: await sizeOf(path),
    schema: columns.map(([name, type]) => ({ name, type })),
    lanes,
    made_at: writeInstant(at()),
    version,
  }
  await folder.complete(file)
  return { ok: true, value: manifest }
}

/** Extend a claim and store the progress. Aborts the export if its file is too large. */
const keepExport = async (
  { database, folder }: ExportWorkDependencies,
  claimed: ClaimedExport,
  durationMs: number,
  abort: (reason: unknown) => void,
): Promise<boolean> => {
  const bytes = await sizeOf(folder.partOf(fileOf(claimed)))
  if (claimed.usedBytes + bytes > exportLimits.bytes || (await folder.freeBytes()) < minFreeBytes) abort(tooLarge)
  return extendExport(database.operator, claimed, durationMs, bytes)
}

/** Write a claimed export and store its end. */
const runExport = async (
  dependencies: ExportWorkDependencies,
  claimed: ClaimedExport,
  signal: AbortSignal,
): Promise<JobEnd> => {
  const { database, folder } = dependencies
  const file = fileOf(claimed)
  const finish = (end: Parameters<typeof finishExport>[2]) =>
    finishExport(database.operator, claimed, end, dependencies.at())
  let isLost = false
  try {
    if (claimed.attempts > maxAttempts) {
      await finish({ refusal: broken })
      return 'ENDED'
    }
    const manifest = await writeFile(dependencies, claimed, file, signal)
    isLost = !(manifest.ok
      ? await finish({ manifest: JSON.stringify(manifest.value), bytes: manifest.value.bytes })
      : await finish({ refusal: manifest.refusal }))
  } catch (error) {
    if (signal.reason !== tooLarge) throw error
    await finish({ refusal: tooLarge })
  } finally {
    for (const ending of ['', '.lines', '.sums']) await rm(`${folder.partOf(file)}${ending}`, { force: true })
    // If the end could not be stored, its outcome is unknown: a later sweep deletes the file of a lost claim.
    if (isLost) await rm(folder.fileOf(file), { force: true })
  }
  return 'ENDED'
}

/** Delete expired exports, and files without an export: of deleted exports, erased accounts and killed processes. */
const sweep = async ({ database, folder, at }: ExportWorkDependencies): Promise<void> => {
  const { operator } = database
  await deleteExpiredExports(operator, at(), { retentionMs: exportLimits.retentionMs, limit: maxExpired })
  await folder.sweep(claims => knownClaims(operator, claims))
}

/**
 * Work on exports, one at a time. After a crash another process writes the file again under another name.
 * Source: docs/rules/export.md #work.
 */
export const startExportWork = (dependencies: ExportWorkDependencies): Loop => {
  let sweptAt = Number.NEGATIVE_INFINITY
  const claim = async (durationMs: number): Promise<ClaimedExport | null> => {
    if (performance.now() - sweptAt >= sweepMs) {
      await sweep(dependencies)
      sweptAt = performance.now()
    }
    return claimExport(dependencies.database.operator, durationMs)
  }
  return startJobs(dependencies, {
    name: 'exports',
    kind: exportJobs,
    claims: [claim],
    run: (claimed, signal) => runExport(dependencies, claimed, signal),
    isOutage: error => isFailure(error) && error.retriable && !ownFailures.includes(error.code),
    extend: (claimed, durationMs, abort) => keepExport(dependencies, claimed, durationMs, abort),
  })
}
