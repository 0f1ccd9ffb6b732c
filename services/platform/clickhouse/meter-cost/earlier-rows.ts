import type { EarlierRecords } from '../../../domain/statement/earlier-records.ts'
import type { MeterFlow } from '../../../domain/statement/metered-energy.ts'
import { idLiteral, instantLiteral, isAmong, wholeList, wholeLiteral } from '../encoding/literals.ts'

const flowIs: Readonly<Record<MeterFlow, string>> = {
  IMPORT: `(energy_flow_direction = 'INBOUND' AND tariff_direction = 'IMPORT')`,
  EXPORT: `(energy_flow_direction = 'OUTBOUND' AND tariff_direction = 'EXPORT')`,
  LOCAL: `(energy_flow_direction = 'INBOUND' AND tariff_direction = 'LOCAL')`,
}

/** Return the condition of rows that charges count before a statement. The time is another condition. */
export const isCounted = ({ flows, deviceIds }: EarlierRecords): string => {
  const isOfFlow = `(${flows.map(flow => flowIs[flow]).join(' OR ')})`
  return deviceIds === null ? isOfFlow : `${isOfFlow} AND ${isAmong('device_id', deviceIds)}`
}

/** Maximum energy in Wh of a row that is added up: the sum of a million rows fits into its column. */
const maxAddedEnergy = 1_000_000

const noId = idLiteral('0'.repeat(24))
const otherDevice = idLiteral('f'.repeat(24))

/** Return the condition of rows that are added up. `isKept`: condition of rows that stay as they are. */
const isAdded = ({ from, to, splitCells }: EarlierRecords, cellMs: number, isKept: string): string =>
  [
    `start_time >= ${instantLiteral(from)}`,
    `cell + ${cellMs} <= ${wholeLiteral(to)}`,
    `toUnixTimestamp64Milli(end_time) <= cell + ${cellMs}`,
    'isNull(energy_submitted)',
    `energy <= ${maxAddedEnergy}`,
    splitCells.length === 0 ? '' : `cell NOT IN ${wholeList(splitCells)}`,
    isKept === '' ? '' : `NOT ${isKept}`,
  ]
    .filter(condition => condition !== '')
    .join(' AND ')

const instantOf = (ms: string): string => `fromUnixTimestamp64Milli(${ms}, 'UTC')`

/** Values of the columns of a group whose rows may be added up. Other groups have one row. */
const expressionOf = (name: string): string => {
  if (name === 'start_time' || name === 'end_time') return `group_${name}`
  if (name === 'record_id') return 'min(record_id)'
  if (name === 'energy') return `CAST(sum(energy), 'Decimal(18, 6)')`
  if (name === 'cost') return 'if(is_added, NULL, any(cost))'
  if (name === 'session_reference_id') return `if(is_added, '', any(session_reference_id))`
  if (name.startsWith('pieces.')) return `if(is_added, [], any(\`${name}\`))`
  return name.endsWith('_direction') ? name : `any(${name})`
}

/**
 * Return a SELECT of columns of rows, in which the earlier rows that lie within one cell are added up. Ordered by start,
 * end and record id, with at most `maxRows` rows. `rows`: FROM clause of the rows. Append settings.
 */
export const selectAddedUp = (
  columns: readonly string[],
  rows: string,
  earlier: EarlierRecords & { readonly cellMs: number },
  isKept: string,
  maxRows: number,
): string => {
  const { cellMs, namedDeviceIds } = earlier
  const named = isAmong('device_id', [null, ...namedDeviceIds])
  const keys = ['energy_flow_direction', 'tariff_direction', 'is_added', 'group_device']
  return `SELECT ${columns.map(name => `${expressionOf(name)} AS \`${name}\``).join(', ')}
    FROM (SELECT ${columns.map(name => `\`${name}\``).join(', ')},
        intDiv(toUnixTimestamp64Milli(start_time), ${cellMs}) * ${cellMs} AS cell,
        ${isAdded(earlier, cellMs, isKept)} AS is_added,
        if(is_added AND NOT (${named}), ${otherDevice}, device_id) AS group_device,
        if(is_added, ${instantOf('cell')}, start_time) AS group_start_time,
        if(is_added, ${instantOf(`cell + ${cellMs}`)}, end_time) AS group_end_time,
        if(is_added, ${noId}, record_id) AS group_record
      ${rows})
    GROUP BY ${[...keys, 'group_start_time', 'group_end_time', 'group_record'].join(', ')}
    ORDER BY group_start_time, group_end_time, min(record_id) LIMIT ${maxRows}`
}

/**
 * Return settings of `selectAddedUp`: columns are not hidden by values of the same name, and groups beyond `maxRows` are
 * not created.
 */
export const addingSettings = (maxRows: number): string =>
  `prefer_column_name_to_alias=1, max_rows_to_group_by=${maxRows}, group_by_overflow_mode='any'`
