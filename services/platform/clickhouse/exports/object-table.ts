import type { TableFormat } from '../../../domain/table-format.ts'
import { textLiteral } from '../encoding/literals.ts'
import { fileTable } from './engine-file.ts'

/** Columns of a table of costs. */
export const costColumns: readonly (readonly [name: string, type: string])[] = [
  ['start_time', "DateTime64(3, 'UTC')"],
  ['end_time', "DateTime64(3, 'UTC')"],
  ['energy_wh', 'Decimal(38, 6)'],
  ['cost', 'Nullable(Decimal(38, 9))'],
  ['confidence', 'Decimal(9, 4)'],
  ['unpriced_records', 'UInt32'],
  ['estimated_energy_wh', 'Decimal(38, 6)'],
  ['provisional_energy_wh', 'Decimal(38, 6)'],
]

/** Columns of a table of objects. NDJSON has the objects themselves. */
export const objectColumns: readonly (readonly [name: string, type: string])[] = [
  ['id', 'String'],
  ['time_created', 'String'],
  ['json', 'String'],
]

const structureOf = (columns: readonly (readonly [string, string])[]): string =>
  columns.map(([name, type]) => `${name} ${type}`).join(', ')

/** Return the SELECT of the rows of an NDJSON file of costs. */
export const costRowsSelect = (path: string): string =>
  `SELECT ${costColumns.map(([name]) => name).join(', ')} FROM ${fileTable({ path, format: 'ndjson' }, structureOf(costColumns))}`

/** Return the SELECT of the sums of a finished file of costs. */
export const costSumsSelect = (path: string, format: TableFormat): string =>
  `SELECT toString(count()), toString(sum(energy_wh)), toString(sum(unpriced_records)),
    toString(sum(ifNull(cost, toDecimal128(0, 9)))) FROM ${fileTable({ path, format }, structureOf(costColumns))}`

const lines = (path: string): string => `file(${textLiteral(path)}, 'LineAsString', 'line String')`

/** Return the SELECT of a table of the objects of an NDJSON file. */
export const objectRowsSelect = (path: string): string =>
  `SELECT JSONExtractString(line, 'id') AS id, JSONExtractString(line, 'time_created') AS time_created, line AS json
  FROM ${lines(path)}`

/** Return the SELECT of the number of rows of a finished file of objects. */
export const objectCountSelect = (path: string, format: TableFormat): string =>
  `SELECT toString(count()) FROM ${
    format === 'ndjson' ? lines(path) : fileTable({ path, format }, structureOf(objectColumns))
  }`
