import { readFile, rm } from 'node:fs/promises'
import type { ExportInput } from '../../contract/exports/export.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { monthsWithRows } from '../../platform/clickhouse/exports/record-periods.ts'
import {
  columnsOf,
  fileSumsSelect,
  type RecordTable,
  recordTableSelect,
  storedSumsSelect,
} from '../../platform/clickhouse/exports/record-table.ts'
import type { RowSelection } from '../../platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { locationsOfSession } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { locationsOfDevices } from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { Failure } from '../../platform/failure.ts'
import { tableObjects } from '../../platform/postgres/exports/table-objects.ts'
import { costTarget } from '../../platform/postgres/pricing/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { CostDependencies } from '../dependencies.ts'

/** Content of a written file. */
export type WrittenTable = {
  readonly rows: number
  readonly sums: {
    readonly energy_wh: string | null
    readonly cost: Readonly<Record<string, string>>
    readonly unpriced_records: number
  }
  readonly columns: readonly (readonly [name: string, type: string])[]
}

/** Maximum number of locations of a customer in one export. */
const maxLocations = 5_000

/** Find the rows of an export; null if no row can match. Refuses an object that does not exist. */
const selectionOf = async (
  { database, clickHouse }: CostDependencies,
  tenant: Tenant,
  { location_id, device_id, customer_id, session_reference_id, start_time, end_time }: ExportInput,
): Promise<Result<RowSelection | null>> => {
  const common = {
    deviceIds: device_id === undefined ? null : [device_id],
    sessionReferenceId: session_reference_id ?? null,
    recordReferenceId: null,
    batchId: null,
    from: start_time.at,
    to: end_time.at,
  }
  const id = location_id ?? device_id ?? customer_id
  const target =
    id === undefined ? null : await withTenant(database, tenant, transaction => costTarget(transaction, id))
  if (id !== undefined && target === null) return refused('not_found', 'The object of the export does not exist')
  if (location_id !== undefined) return accepted({ ...common, locationIds: [location_id] })
  const metered =
    device_id !== undefined
      ? await locationsOfDevices(clickHouse, tenant, [device_id])
      : session_reference_id !== undefined
        ? await locationsOfSession(clickHouse, tenant, session_reference_id)
        : target !== null && target.kind !== 'device'
          ? target.locations.map(({ id: locationId }) => ({ locationId }))
          : null
  if (metered === null) return accepted({ ...common, locationIds: null })
  const locationIds = [...new Set(metered.map(({ locationId }) => locationId))]
  if (locationIds.length > maxLocations)
    return refused('too_many_locations', `An export of a customer has at most ${maxLocations} locations`)
  return accepted(locationIds.length === 0 ? null : { ...common, locationIds })
}

type Sums = {
  readonly rows: string
  readonly energy: string
  readonly unpriced: string
  readonly currencies: readonly string[]
  readonly amounts: readonly string[]
}

/** Read the sums of the stored rows through a small file, because such a read can take minutes. */
const storedSums = async (
  { clickHouse }: CostDependencies,
  table: RecordTable,
  path: string,
  signal: AbortSignal,
): Promise<Sums & { readonly state: string }> => {
  await rm(path, { force: true })
  await clickHouse.writeFile(storedSumsSelect(table), { path, format: 'ndjson' }, signal)
  const text = await readFile(path, 'utf8')
  await rm(path, { force: true })
  return JSON.parse(text) as Sums & { readonly state: string }
}

const toText = ({ energy, unpriced, currencies, amounts }: Sums): string =>
  JSON.stringify([energy, unpriced, currencies, amounts])

/**
 * Write the table of an export and read the finished file again. Its sums must be those of the stored rows, unless rows
 * changed meanwhile. Throws `Failure` otherwise.
 */
export const writeRecords = async (
  dependencies: CostDependencies,
  tenant: Tenant,
  input: ExportInput,
  path: string,
  signal: AbortSignal,
): Promise<Result<WrittenTable>> => {
  const selection = await selectionOf(dependencies, tenant, input)
  if (!selection.ok) return selection
  const { clickHouse, database } = dependencies
  const noRows = { locationIds: null, deviceIds: null, sessionReferenceId: null, recordReferenceId: null }
  const table: RecordTable = {
    tenant,
    selection: selection.value ?? { ...noRows, batchId: null, from: 0, to: 0 },
    ...(await withTenant(database, tenant, tableObjects)),
    hasPieces: input.pieces === true,
    format: input.format,
    isRaw: input.raw === true,
  }
  const before = await storedSums(dependencies, table, `${path}.sums`, signal)
  const months = await monthsWithRows(clickHouse, tenant, table.selection)
  await clickHouse.writeFile(recordTableSelect(table, months), { path, format: input.format }, signal)
  const [row] = await clickHouse.files.rows(fileSumsSelect(path, table), signal)
  const [rows, energy, unpriced, currencies, amounts] = row as [string, string, string, string[], string[]]
  const sums: Sums = { rows, energy, unpriced, currencies, amounts }
  if (toText(sums) !== toText(before)) {
    const after = await storedSums(dependencies, table, `${path}.sums`, signal)
    if (before.state === after.state)
      throw new Failure('export_differs', 'The sums of the file are not those of the stored rows.', { retriable: true })
  }
  return accepted({
    rows: Number(rows),
    sums: {
      energy_wh: energy,
      cost: Object.fromEntries(currencies.map((currency, index) => [currency, amounts[index] ?? '0'])),
      unpriced_records: Number(unpriced),
    },
    columns: columnsOf(table),
  })
}
