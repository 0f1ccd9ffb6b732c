/**
 * Process that exports stored records to a Parquet file and measures it. The argument is a JSON object `ExportArguments`.
 * The process sends `ExportFigures` and ends.
 */
import { readFileSync } from 'node:fs'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { monthsWithRows } from '../../../services/platform/clickhouse/exports/record-periods.ts'
import { type RecordTable, recordTableSelect } from '../../../services/platform/clickhouse/exports/record-table.ts'

/** `folder`: of the engine. `path`: of the written file. `rows`: stored rows of the account. */
export type ExportArguments = {
  readonly folder: string
  readonly path: string
  readonly accountId: string
  readonly rows: number
}

/** `memoryMb`: largest resident memory of the process during the export, above the memory before, in MiB. */
export type ExportFigures = {
  readonly rowsPerSecond: number
  readonly cpuMicroseconds: number
  readonly memoryMb: number
}

const residentMb = (): number => process.memoryUsage.rss() / 2 ** 20

const writeTable = async (db: ClickHouse, { accountId, path }: ExportArguments): Promise<void> => {
  const everything = { locationIds: null, deviceIds: null, sessionReferenceId: null, recordReferenceId: null }
  const table: RecordTable = {
    tenant: { accountId, liveMode: false },
    selection: { ...everything, batchId: null, from: null, to: null },
    nonCommodityIds: [],
    raisedPowers: [],
    hasPieces: false,
    format: 'parquet',
    isRaw: false,
  }
  const select = recordTableSelect(table, await monthsWithRows(db, table.tenant, table.selection))
  await db.writeFile(select, { path, format: 'parquet' }, new AbortController().signal)
}

const measureExport = async (given: ExportArguments): Promise<ExportFigures> => {
  const db = openChdb({ folder: given.folder })
  try {
    const before = residentMb()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMb())
    }, 50)
    const [cpuAt, startedAt] = [process.cpuUsage(), performance.now()]
    await writeTable(db, given)
    const seconds = (performance.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(cpuAt)
    clearInterval(watch)
    if (!readFileSync(given.path).subarray(-4).equals(Buffer.from('PAR1')))
      throw new Error('The export is not complete.')
    return {
      rowsPerSecond: given.rows / seconds,
      cpuMicroseconds: (user + system) / given.rows,
      memoryMb: peak - before,
    }
  } finally {
    await db.close()
  }
}

process.send?.(await measureExport(JSON.parse(process.argv[2] ?? '') as ExportArguments))
