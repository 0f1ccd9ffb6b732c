import { setTimeout as sleep } from 'node:timers/promises'
import { askExactly } from '../exact/exact-json.ts'
import type { Client } from '../system/client.ts'
import { parseExactly } from './exact-decimal.ts'
import { startOfDay } from './expected-cost.ts'
import { dayCount, firstDay, maxLengthMs } from './generate-submission.ts'
import type { LedgerLocation } from './journal.ts'

/** A record that the service stores. Numbers are texts. */
export type StoredRecord = {
  readonly id: string
  readonly location_id: string
  readonly device_id: string | null
  readonly energy_flow_direction: 'INBOUND' | 'OUTBOUND'
  readonly tariff_direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly status: string
  readonly confidence: string
  readonly energy_submitted: string
  readonly batch_id: string | null
  readonly data: {
    readonly start_time: string
    readonly end_time: string
    readonly session_reference_id: string | null
    readonly record_reference_id: string | null
    readonly energy: { readonly value: string }
    readonly tariff: { readonly cost: { readonly value: string | null; readonly confidence: string } }
  }
  readonly tariff_ids: readonly string[]
  readonly pieces: readonly {
    readonly start_time: string
    readonly end_time: string
    readonly energy: string
    readonly price: string
    readonly tier: string
    readonly cost: string
    readonly confidence: string
  }[]
}

/** Read all records of a location and its devices, page by page. `filter` adds query parameters. */
export const readRecords = async (
  client: Client,
  locationId: string,
  filter = '',
): Promise<readonly StoredRecord[]> => {
  const records: StoredRecord[] = []
  for (let cursor = ''; ; ) {
    const path = `/meters/records?location_id=${locationId}&limit=100${filter}${cursor}`
    const page = await askExactly<{ data: readonly StoredRecord[]; has_more: boolean }>(client, 'GET', path)
    records.push(...page.data)
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined) return records
    cursor = `&starting_after=${last.id}`
  }
}

export type StoredDay = {
  readonly day: number
  readonly energy: string
  readonly cost: string
  readonly unpriced: string
}

type CostAnswer = {
  readonly data: readonly {
    readonly start_time: string
    readonly energy: { readonly value: string }
    readonly tariff: { readonly cost: { readonly value: string } }
    readonly unpriced_records?: string
  }[]
}

/** Read the daily costs of a location with its devices, for all days that its records can cover. */
export const readDays = async (client: Client, location: LedgerLocation): Promise<readonly StoredDay[]> => {
  const day = 86_400_000
  const from = startOfDay(firstDay, location)
  const to = startOfDay(firstDay + dayCount * day + maxLengthMs, location) + day
  const span = { start_time: new Date(from).toISOString(), end_time: new Date(to).toISOString() }
  const path = `/costs/interval/${location.locationId}?aggregation=DAY&include_devices=true`
  const { data } = await askExactly<CostAnswer>(client, 'POST', path, span)
  return data.map(({ start_time, energy, tariff, unpriced_records = '0' }) => ({
    day: Date.parse(start_time),
    energy: energy.value,
    cost: tariff.cost.value,
    unpriced: unpriced_records,
  }))
}

export type StoredReceipt = {
  readonly records_submitted: string
  readonly records_accepted: string
  readonly records_processed: string
  readonly failed_records: readonly { readonly record_num: string; readonly error: string }[]
}

/** Read a receipt repeatedly until each accepted record is processed or the timeout has passed. */
export const readReceipt = async (client: Client, batchId: string, timeoutMs: number): Promise<StoredReceipt> => {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(50)) {
    const { status, text } = await client.send('GET', `/meters/batch?batch_id=${batchId}`)
    const isLate = performance.now() > deadline
    if (status === 503 && !isLate) continue
    if (status !== 200) throw new Error(`The receipt of ${batchId} answered ${status}: ${text}`)
    const receipt = parseExactly(text) as StoredReceipt
    if (isLate || receipt.records_processed === receipt.records_accepted) return receipt
  }
}
