import { costOfInterval } from '../exact/exact-answers.ts'
import { readRecords, type StoredRecord } from '../ledger/read-back.ts'
import type { Client } from '../system/client.ts'
import { finalOf, flows, type History, instant } from './history.ts'
import type { PlayContext, PlayedLocation } from './play.ts'
import { ruleOf } from './register-rules.ts'

/** Stored data as texts without ids, by name. */
export type StoredState = ReadonlyMap<string, string>

const readable = (value: unknown): string => JSON.stringify(value).replaceAll('"', '')

/** Name of a stored row: reference of the record or closing reading, device, session, directions and interval. */
export const rowName = (row: StoredRecord, deviceIds: readonly string[]): string => {
  const { start_time: start, end_time: end, session_reference_id: session, record_reference_id: reference } = row.data
  const device = row.device_id === null ? null : deviceIds.indexOf(row.device_id)
  const object = `device ${device} session ${session} ${row.energy_flow_direction} ${row.tariff_direction}`
  return `${reference?.split('~')[0]} ${object} ${instant(Date.parse(start))} ${instant(Date.parse(end))}`
}

const rowText = (row: StoredRecord, { tariffIds }: PlayedLocation): string => {
  const names = new Map([...tariffIds].map(([name, id]) => [id, name]))
  const { energy, tariff } = row.data
  return readable({
    status: row.status,
    energy: energy.value,
    submitted: row.energy_submitted,
    confidence: row.confidence,
    cost: tariff.cost,
    tariffs: row.tariff_ids.map(id => names.get(id) ?? id),
    pieces: row.pieces.map(piece => Object.values(piece).join(' ')),
  })
}

/** Read the rows of a location. */
export const readRows = async ({ client, deviceIds }: PlayContext, location: PlayedLocation): Promise<StoredState> => {
  const rows = await readRecords(client, location.locationId)
  const state = new Map<string, string>()
  for (const row of rows) {
    const name = rowName(row, deviceIds)
    state.set(state.has(name) ? `${name} again` : name, rowText(row, location))
  }
  return state
}

const intervalOf = ({ records, registers, monthStart }: History): readonly [string, string] => {
  const times = registers.flatMap(({ readings }) => readings.map(({ time }) => time))
  const instants = [monthStart, ...records.flatMap(({ start, end }) => [start, end]), ...times]
  return [instant(Math.min(...instants) - 7_000), instant(Math.max(...instants) + 3_601_000)]
}

const usedFlows = ({ records, registers }: History): readonly (keyof typeof flows)[] => {
  const used = new Set([...records, ...registers].map(({ flow }) => flow))
  return (Object.keys(flows) as (keyof typeof flows)[]).filter(flow => used.has(flow))
}

/**
 * Read the costs of the days of bought energy, and of another flow and aggregation that the seed of the history
 * chooses.
 */
export const readCosts = async (
  client: Client,
  history: History,
  { locationId }: PlayedLocation,
): Promise<StoredState> => {
  const used = usedFlows(history)
  const queries = [
    ['bought', 'DAY'],
    [used[history.seed % used.length] ?? 'bought', ['MONTH', 'DAY', 'MONTH', ''][history.seed % 4] ?? ''],
    ...(history.seed % 3 === 0 ? ([['bought', 'MONTH']] as const) : []),
  ] as const
  const state = new Map<string, string>()
  for (const [flow, aggregation] of queries) {
    const { energyFlowDirection, tariffDirection } = flows[flow]
    const query = `tariff_direction=${tariffDirection}&energy_flow_direction=${energyFlowDirection}&include_devices=true`
    const { data } = await costOfInterval(
      client,
      locationId,
      intervalOf(history),
      `${query}${aggregation && `&aggregation=${aggregation}`}`,
    )
    for (const { start_time: start, end_time: end, ...sums } of data)
      state.set(`${flow} ${aggregation} ${start} ${end}`, readable(sums))
  }
  return state
}

/** Return a line for each difference between two states. Empty if the states are equal. */
export const differences = (
  expected: StoredState,
  found: StoredState,
  names: readonly [string, string],
): readonly string[] =>
  [...new Set([...expected.keys(), ...found.keys()])].sort().flatMap(name => {
    const [expectedText, foundText] = [expected.get(name) ?? 'nothing', found.get(name) ?? 'nothing']
    return expectedText === foundText
      ? []
      : [`${name}\n    ${names[0]}: ${expectedText}\n    ${names[1]}: ${foundText}`]
  })

/** Describe a history for a failure message, one line for each record, register and chain of tariffs. */
export const describeHistory = (history: History): string => {
  const { zone, monthStart, seed, tariffs, records, registers } = history
  return [
    `${zone}, month from ${instant(monthStart)}, seed ${seed}`,
    ...tariffs.chains.map(chain => `tariffs ${readableText(chain)}`),
    ...records.map(({ name, start, end, device, flow, session, forms }) => {
      const sent = forms.map(({ energy, confidence }) => `${Number(energy) / 1e6} Wh (${confidence / 1e6})`).join(', ')
      return `${name} ${flow} device ${device} session ${session} ${instant(start)} ${instant(end)}: ${sent}`
    }),
    ...registers.map(register => {
      const { name, device, flow, session, readings } = register
      const shown = readings.map(({ time, isRestart, values }) => {
        const sent = values.map(value => (value === null ? 'withdrawn' : Number(value) / 1e6))
        return `${instant(time)}${isRestart ? ' restart' : ''} ${sent.join(' then ')}`
      })
      const rule = readableText(ruleOf(history, register))
      return `${name} ${flow} device ${device} ${rule} session ${session}: ${shown.join('; ')}`
    }),
    `last forms ${records.map(({ forms }) => Number(finalOf(forms).energy) / 1e6).join(' ')}`,
  ].join('\n')
}

const readableText = (value: unknown): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? Number(one) / 1e9 : one)).replaceAll('"', '')
