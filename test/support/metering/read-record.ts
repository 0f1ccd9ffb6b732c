import type { ApiVersion } from '../../../services/contract/api-version.ts'
import { parseJson } from '../../../services/contract/json/strict-json.ts'
import { readMeterRecord } from '../../../services/contract/metering/meter-record.ts'
import { acceptedValue } from '../accepted-value.ts'

/** Time at which the records arrive, in ms. */
export const at = Date.UTC(2026, 2, 1)
/** Record with the required members only. */
export const base = {
  location_id: 'loc_0198c0ffee00112233445566',
  units: 'WH',
  value: 100,
  start_time: '2026-02-01T00:00:00Z',
  end_time: '2026-02-01T01:00:00Z',
}

/** Read a record from its JSON text. */
export const read = (members: object, apiVersion: ApiVersion = 'current') =>
  readText(JSON.stringify(members), apiVersion)
export const readText = (text: string, apiVersion: ApiVersion = 'current') =>
  readMeterRecord(acceptedValue(parseJson(Buffer.from(text))), apiVersion, at)

/** Write the base record with the exact text of a number. */
export const withNumber = (name: string, written: string): string =>
  JSON.stringify({ ...base, [name]: '#' }).replace('"#"', written)

export const recordOf = (result: ReturnType<typeof read>) => {
  if (!result.ok) throw new Error(`${result.refusal.code}: ${result.refusal.message}`)
  return result.value
}
export const faultOf = (result: ReturnType<typeof read>) => {
  if (result.ok) throw new Error('The record was accepted.')
  return [result.refusal.code, result.refusal.field, result.refusal.message]
}

export const interval = (start_time: string, end_time: string) => ({ start_time, end_time })
