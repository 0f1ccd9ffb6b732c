import { readRecords, type StoredRecord } from '../../support/ledger/read-back.ts'
import type { Client } from '../../support/system/client.ts'
import { year } from '../history/plan-tariffs.ts'

const rowsPerWindow = 90
const maxWindows = 400

/**
 * Read all records of a location: before the year, in windows of the year with about one page each, and after the year.
 */
export const readLocation = async (
  client: Client,
  locationId: string,
  expected: number,
): Promise<readonly StoredRecord[]> => {
  const windows = Math.min(maxWindows, Math.ceil(expected / rowsPerWindow) + 1)
  const edges = Array.from({ length: windows + 1 }, (_, index) =>
    new Date(year.start + Math.floor(((year.end - year.start) * index) / windows)).toISOString(),
  )
  const records: StoredRecord[] = []
  for (let index = 0; index <= edges.length; index += 1) {
    const [from, to] = [edges[index - 1], edges[index]]
    const filter = `${from === undefined ? '' : `&start_time=${from}`}${to === undefined ? '' : `&end_time=${to}`}`
    for (const record of await readRecords(client, locationId, filter)) records.push(record)
  }
  return records
}
