import { numberFields, optionMembers, recordFields, recordTexts } from '../../../contract/metering/record-fields.ts'
import { defaultMaxPower } from '../../../domain/record/reading-rules.ts'
import type { WarningCode } from '../../../domain/record/warnings.ts'
import { isByTime, type TableFormat } from '../../../domain/table-format.ts'
import type { Tenant } from '../../../domain/tenant.ts'
import { textLiteral } from '../encoding/literals.ts'
import { type RowSelection, selectionConditions } from '../meter-cost/meter-cost-pages.ts'
import { meterCost } from '../meter-cost/meter-cost-reads.ts'
import { fileTable } from './engine-file.ts'
import { periodsOf } from './record-periods.ts'

/**
 * A table of records. `nonCommodityIds`: all NON_COMMODITY tariffs of the tenant; the other tariffs are COMMODITY.
 * `raisedPowers`: objects that allow a mean power above 10 MW, in 1e-6 W.
 */
export type RecordTable = {
  readonly tenant: Tenant
  readonly selection: RowSelection
  readonly nonCommodityIds: readonly string[]
  readonly raisedPowers: readonly { readonly id: string; readonly maxPower: bigint }[]
  /** One row for each piece instead of one row for each record. */
  readonly hasPieces: boolean
  readonly format: TableFormat
  /** Texts of a CSV table are written as they are, also those that a spreadsheet reads as a formula. */
  readonly isRaw: boolean
}

/** Columns of a table with their types in the engine, in order. */
const recordColumns: readonly (readonly [name: string, type: string])[] = [
  ['id', 'String'],
  ['location_id', 'String'],
  ['device_id', 'Nullable(String)'],
  ...recordTexts.map(name => [recordFields[name].wire, 'Nullable(String)'] as const),
  ...numberFields.map(({ wire, column }) => [wire, column.type] as const),
  ['energy_flow_direction', 'String'],
  ['tariff_direction', 'String'],
  ['status', 'String'],
  ['currency_code', 'String'],
  ['commodity_tariff_id', 'Nullable(String)'],
  ['non_commodity_tariff_id', 'Nullable(String)'],
  ['start_time', "DateTime64(3, 'UTC')"],
  ['end_time', "DateTime64(3, 'UTC')"],
  ['energy_wh', 'Decimal(18, 6)'],
  ['cost', 'Nullable(Decimal(38, 9))'],
  ['confidence', 'Decimal(9, 4)'],
  ['revision', 'UInt32'],
  ['warnings', 'Nullable(String)'],
]

/** Further columns of a table of pieces. */
const pieceColumns: readonly (readonly [name: string, type: string])[] = [
  ['price', 'Nullable(Decimal(18, 9))'],
  ['tier_kwh', 'Nullable(Decimal(18, 9))'],
  ['piece', 'UInt32'],
]

/** Return the columns of a table. */
export const columnsOf = ({ hasPieces }: Pick<RecordTable, 'hasPieces'>) =>
  hasPieces ? [...recordColumns, ...pieceColumns] : recordColumns

const hexOf = (column: string): string => `lower(hex(${column}))`

/** Write a text of a CSV table so that no spreadsheet reads the text as a formula. An import that removes one apostrophe restores it. */
const safeText = (column: string, { format, isRaw }: RecordTable): string =>
  format === 'csv' && !isRaw ? `if(match(${column}, '^\\'*[=+@\\t\\r-]'), concat('\\'', ${column}), ${column})` : column

const textOrNull = (column: string, table: RecordTable): string => `nullIf(${safeText(column, table)}, '')`

/** Ids in one literal: the engine limits the number of literals of a statement. */
const idSet = (ids: readonly string[]): string =>
  `(SELECT toFixedString(unhex(arrayJoin(splitByChar(',', ${textLiteral(ids.map(id => id.slice(-24)).join(','))}))), 12))`

/** A record whose tariff changes has several tariffs of a kind. A space separates their ids. */
const tariffTexts = (isNonCommodity: boolean, { nonCommodityIds }: RecordTable): string => {
  if (nonCommodityIds.length === 0 && isNonCommodity) return "CAST(NULL, 'Nullable(String)')"
  const isOfKind = `tariff ${isNonCommodity ? '' : 'NOT '}IN ${idSet(nonCommodityIds)}`
  const chosen = nonCommodityIds.length === 0 ? 'tariffs' : `arrayFilter(tariff -> ${isOfKind}, tariffs)`
  return `nullIf(arrayStringConcat(arrayMap(tariff -> concat('trf_', ${hexOf('tariff')}), ${chosen}), ' '), '')`
}

/** Name of a stored column whose name a column of the table has. */
const storedName = (name: string): string => `stored_${name}`

const optionNames = Object.keys(
  optionMembers(
    () => null,
    () => null,
  ),
)

/** Stored columns of the ordered rows. */
const storedColumns = `record_id AS record, location_id AS location, device_id AS device,
  ${optionNames.map(name => `${name} AS ${storedName(name)}`).join(', ')}, energy_flow_direction AS flow,
  tariff_direction AS direction, status = 'UNPRICED' AS is_unpriced, currency, tariff_ids AS tariffs,
  start_time AS starts_at, end_time AS ends_at, energy, cost AS amount, record_confidence, confidence AS price_confidence,
  pricing_revision, ifNull(energy_submitted, energy) AS submitted`

/** Columns of the pieces. A row with one piece has its price in columns of its own. */
const storedPieces = `, price AS only_price, tier AS only_tier, pieces.start_time AS starts, pieces.energy AS energies,
  pieces.price AS prices, pieces.tier AS tiers, pieces.cost AS amounts`

/** Number, start, end, energy, price, tier and cost of each piece of a row. */
const pieceOfRow = `ARRAY JOIN if(empty(starts),
    [(toUInt32(1), starts_at, ends_at, energy, only_price, only_tier, ifNull(amount, toDecimal128(0, 9)))],
    arrayZip(arrayMap(n -> toUInt32(n), arrayEnumerate(starts)), starts,
      arrayConcat(arraySlice(starts, 2), [ends_at]), energies, prices, tiers, amounts)) AS part`

/** Confidence of the record and of its price together, in 1e-4, half up. */
const confidence = `CAST(toDecimal64(intDiv(toUInt64(record_confidence) * price_confidence + 50000000, 100000000), 4) / 10000,
  'Decimal(9, 4)') AS confidence`

/** Highest plausible mean power of the object of a row in 1e-6 W. */
const maxPower = ({ raisedPowers }: RecordTable): string => {
  const usual = `toDecimal128(${defaultMaxPower}, 0)`
  if (raisedPowers.length === 0) return usual
  const listOf = (texts: readonly string[]) => `splitByChar(',', ${textLiteral(texts.join(','))})`
  const ids = listOf(raisedPowers.map(({ id }) => id.slice(-24)))
  const powers = listOf(raisedPowers.map(one => String(one.maxPower)))
  const object = hexOf("if(device = toFixedString('', 12), location, device)")
  return `toDecimal128(transform(${object}, ${ids}, ${powers}, '${defaultMaxPower}'), 0)`
}

const implausible: WarningCode = 'implausible_energy'

/** Codes of the warnings of a record, with the rule of `isImplausible`: energy in 1e-6 Wh × 3.6e6 ms against power × ms. */
const warnings = (table: RecordTable): string => `if(ends_at > starts_at AND toDecimal128(submitted, 6) * 3600000000000
    > ${maxPower(table)} * (toUnixTimestamp64Milli(ends_at) - toUnixTimestamp64Milli(starts_at)), '${implausible}', NULL) AS warnings`

const optionValues = (table: RecordTable): string => {
  const values = optionMembers(
    name => textOrNull(storedName(recordFields[name].wire), table),
    ({ wire }) => storedName(wire),
  )
  return Object.entries(values)
    .map(([name, value]) => `${value} AS ${name}`)
    .join(', ')
}

/** Columns that a table of records and a table of pieces share. */
const sharedColumns = (table: RecordTable): string => `concat('mre_', ${hexOf('record')}) AS id,
  concat('loc_', ${hexOf('location')}) AS location_id,
  if(device = toFixedString('', 12), NULL, concat('dev_', ${hexOf('device')})) AS device_id,
  ${optionValues(table)},
  toString(flow) AS energy_flow_direction, toString(direction) AS tariff_direction,
  if(is_unpriced, 'UNPRICED', 'PRICED') AS status, toString(currency) AS currency_code,
  ${tariffTexts(false, table)} AS commodity_tariff_id, ${tariffTexts(true, table)} AS non_commodity_tariff_id`

const recordValues = (
  table: RecordTable,
): string => `starts_at AS start_time, ends_at AS end_time, energy AS energy_wh, amount AS cost, ${confidence},
  pricing_revision AS revision, ${warnings(table)}`

const pieceValues = (table: RecordTable): string => `part.2 AS start_time, part.3 AS end_time, part.4 AS energy_wh,
  if(is_unpriced, NULL, part.7) AS cost, ${confidence}, pricing_revision AS revision,
  ${warnings(table)}, if(is_unpriced, NULL, part.5) AS price,
  if(is_unpriced, NULL, CAST(CAST(part.6, 'Decimal(38, 9)') / 1000, 'Decimal(18, 9)')) AS tier_kwh, part.1 AS piece`

const rowsOfTable = ({ tenant, selection }: Pick<RecordTable, 'tenant' | 'selection'>): string =>
  meterCost(tenant, selectionConditions(selection).join(' AND ') || 'true')

const timeOrder = 'start_time, record_id'
/** Order of the stored rows. The engine reads the rows in this order without a sort. */
const storedOrder = `account_id, live_mode, location_id, toDate(start_time), device_id, energy_flow_direction, tariff_direction,
  start_time, record_id`

/**
 * Return the SELECT of a table of records, in the order of docs/rules/export.md. One statement reads one state of the
 * rows. It reads one period after the other (`fileSettings`), so that its memory does not grow with the number of rows.
 * `months`: starts of the months in which the table has rows.
 */
export const recordTableSelect = (table: RecordTable, months: readonly number[]): string => {
  const { tenant, selection, hasPieces, format } = table
  const order = isByTime(format) ? timeOrder : storedOrder
  const periods = periodsOf(selection, months).map(
    period => `(SELECT ${storedColumns}${hasPieces ? storedPieces : ''} ${rowsOfTable({ tenant, selection: period })}
    ORDER BY ${order})`,
  )
  return `SELECT ${sharedColumns(table)}, ${hasPieces ? pieceValues(table) : recordValues(table)}
  FROM (${periods.join(' UNION ALL ')}) ${hasPieces ? pieceOfRow : ''}`
}

/** Sums of a table: rows, energy, records without a price, and a cost for each currency, as decimal texts. */
const sumColumns = (columns: {
  readonly currency: string
  readonly energy: string
  readonly cost: string
  readonly isUnpriced: string
}): string => `toString(count()) AS rows, toString(sum(${columns.energy})) AS energy,
  toString(countIf(${columns.isUnpriced})) AS unpriced,
  sumMap([${columns.currency}], [ifNull(${columns.cost}, toDecimal128(0, 9))]) AS costs,
  costs.1 AS currencies, arrayMap(one -> toString(one), costs.2) AS amounts`

/**
 * Return the SELECT of the sums of the stored rows. `state` changes if a row changes, so that two answers with the same
 * state surround a time without changes.
 */
export const storedSumsSelect = (table: RecordTable): string => {
  const columns = sumColumns({
    currency: 'code',
    energy: 'energy',
    cost: 'cost',
    isUnpriced: "status = 'UNPRICED'",
  })
  const rows = `SELECT toString(currency) AS code, energy, cost, status, record_id, version ${rowsOfTable(table)}`
  return `SELECT rows, energy, unpriced, currencies, amounts, state
  FROM (SELECT ${columns}, toString(sum(cityHash64(record_id, version))) AS state FROM (${rows}))`
}

/** Return the SELECT of the sums of a finished file. */
export const fileSumsSelect = (path: string, table: Pick<RecordTable, 'format' | 'hasPieces'>): string => {
  const structure = columnsOf(table)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')
  const columns = sumColumns({
    currency: 'currency_code',
    energy: 'energy_wh',
    cost: 'cost',
    isUnpriced: `status = 'UNPRICED'${table.hasPieces ? ' AND piece = 1' : ''}`,
  })
  return `SELECT rows, energy, unpriced, currencies, amounts
  FROM (SELECT ${columns} FROM ${fileTable({ path, format: table.format }, structure)})`
}
