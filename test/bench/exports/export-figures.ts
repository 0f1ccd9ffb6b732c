import { fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { endProcess, nextMessage } from '../../support/system/child-process.ts'
import { dataFolder } from '../../support/system/running-system.ts'
import { removeAfterRun } from '../data-folders.ts'
import { fillMonths, rowsPerMonth, untilMerged } from '../fleet/fill-months.ts'
import type { ExportArguments, ExportFigures } from './export-process.ts'

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}_${((index * 7919) % 10_007).toString(16).padStart(24, '0')}`)

const storeMonths = async (folder: string, accountId: string, months: number): Promise<void> => {
  const db = openChdb({ folder })
  try {
    await applySchemas(db, schemaFiles())
    await fillMonths(db, accountId, { locations: idsOf('loc', 200), devices: idsOf('dev', 400) }, months)
    await untilMerged(db)
  } finally {
    await db.close()
  }
}

/**
 * Measure the export of some months of 1.2 million rows to a Parquet file. A new process exports, because an engine
 * that has just stored and merged millions of rows is slower. Promise P17.
 */
export const exportFigures = async (months = 10): Promise<ExportFigures> => {
  const parent = dataFolder()
  mkdirSync(parent, { recursive: true })
  const given: ExportArguments = {
    folder: join(parent, 'clickhouse'),
    path: join(parent, 'records.parquet'),
    accountId: idsOf('acc', 2)[1] ?? '',
    rows: months * rowsPerMonth,
  }
  try {
    await storeMonths(given.folder, given.accountId, months)
    const child = fork(new URL('./export-process.ts', import.meta.url), [JSON.stringify(given)], { execArgv: [] })
    const figures = await nextMessage<ExportFigures>(child)
    await endProcess(child)
    return figures
  } finally {
    removeAfterRun(parent)
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await exportFigures())}\n`)
