import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import sql from 'sql-template-tag'
import type { BatchFailure } from '../../../domain/statement/statement-batch.ts'
import { toTimestamp } from '../column.ts'
import { readFirst } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { ErasedObjects } from '../registry/erasures.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'
import { anyDevice, redactAnswer } from './erase-statements.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

type Erased = Pick<ErasedObjects, 'locationIds' | 'deviceIds'>

/**
 * Erase objects from the lines of an export: drafts of erased locations are removed; FINAL statements lose all devices
 * and sessions; other statements lose the erased devices and their sessions.
 */
export const redactLines = (lines: string, { locationIds, deviceIds }: Erased): string => {
  const erased = new Set(locationIds)
  const devices = deviceIds.join('|')
  const redactLine = (line: string): readonly string[] => {
    const locationId = /"location_id":"([^"]*)"/.exec(line)?.[1] ?? ''
    if (!erased.has(locationId)) return [devices === '' ? line : redactAnswer(line, devices, false)]
    return line.includes('"status":"FINAL"') ? [redactAnswer(line, anyDevice, true)] : []
  }
  return lines
    .split('\n')
    .flatMap(line => (line === '' ? [line] : redactLine(line)))
    .join('\n')
}

/** Devices that statements name. */
export const devicesIn = (text: string): readonly string[] => [...new Set(text.match(new RegExp(anyDevice, 'g')) ?? [])]

type FinishedPage = {
  readonly batchId: string
  readonly firstIndex: number
  readonly locationIds: readonly string[]
  readonly failures: string
  readonly answers: Buffer
}

/**
 * Erase objects from the finished pages of batches, one page at a time; of a whole account, all batches. Pages that are
 * not finished keep their locations, and a later repeat erases them. Repeats change nothing.
 */
export const eraseBatches = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  { locationIds, deviceIds, receiptsBefore }: Pick<ErasedObjects, 'locationIds' | 'deviceIds' | 'receiptsBefore'>,
): Promise<void> => {
  const owned = ownedBy(tenant)
  if (receiptsBefore !== null)
    await query(sql`delete from statement_batches where ${owned} and time_created <= ${toTimestamp(receiptsBefore)}`)
  const erased = new Set(locationIds)
  for (let [batchId, firstIndex] = ['', 0]; ; ) {
    const page = await readFirst(query)<FinishedPage>(sql`
      select batch_id as "batchId", first_index as "firstIndex", location_ids as "locationIds", failures, answers
      from statement_batch_pages
      where ${owned} and (batch_id, first_index) > (${batchId}, ${firstIndex}) and finished_at is not null
        and (location_ids && ${locationIds}::text[] or device_ids && ${deviceIds}::text[])
      order by batch_id, first_index limit 1`)
    if (page === null) return
    ;({ batchId, firstIndex } = page)
    const lines = redactLines((await decompress(page.answers)).toString(), { locationIds, deviceIds })
    const failures = (JSON.parse(page.failures) as readonly BatchFailure[]).filter(one => !erased.has(one.locationId))
    await query(sql`
      update statement_batch_pages set answers = ${await compress(Buffer.from(lines))},
        location_ids = ${page.locationIds.filter(id => !erased.has(id))}, failures = ${JSON.stringify(failures)},
        device_ids = ${devicesIn(lines)}
      where ${owned} and batch_id = ${batchId} and first_index = ${firstIndex}`)
  }
}
