import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceClient } from '../../services/command-line/service-client.ts'
import type { MeterBatchWire } from '../../services/contract/metering/meter-batch.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import { inParallel } from '../support/system/in-parallel.ts'
import type { CreatedSite } from './create-fleet.ts'
import type { Period, Reading } from './reading.ts'
import { requestWithRetries } from './retry.ts'
import { siteReadings } from './site-readings.ts'

const recordsPerSubmission = 500
const width = 8
const pollMs = 40
const storeTimeoutMs = 120_000

/** Result of the delivery. Times are in ms since the first submission. */
export type Delivery = { readonly records: number; readonly acceptedMs: number; readonly storedMs: number }

/** Session with its energy, as it was sent. */
export type SentSession = {
  readonly reference: string
  readonly site: CreatedSite
  readonly device: string
  readonly energyWh: number
}

export type Plan = {
  readonly submissions: readonly string[]
  readonly records: number
  readonly sessions: readonly SentSession[]
}

/** Convert a reading to a record of a submission. */
export const recordOf = (reading: Reading, site: Pick<CreatedSite, 'locationId' | 'deviceIds'>, suffix: string) => ({
  location_id: site.locationId,
  ...(reading.device === null ? {} : { device_id: site.deviceIds.get(reading.device) }),
  ...(reading.session === null ? {} : { session_reference_id: `${reading.session}${suffix}` }),
  energy_flow_direction: reading.flow,
  tariff_direction: reading.tariff,
  units: 'WH',
  value: reading.energyWh,
  start_time: writeInstant(reading.start),
  end_time: writeInstant(reading.end),
})

/** Simulate the fleet and write all submissions in advance, so that the measured rate is the rate of the service. */
export const planSubmissions = (sites: readonly CreatedSite[], period: Period, seed: number, suffix: string): Plan => {
  const submissions: string[] = []
  const sessions = new Map<string, SentSession>()
  let records = 0
  let waiting: string[] = []
  const flush = (): void => {
    if (waiting.length > 0) submissions.push(`[${waiting.join(',')}]`)
    waiting = []
  }
  for (const site of sites) {
    for (const reading of siteReadings(site, period, seed)) {
      waiting.push(JSON.stringify(recordOf(reading, site, suffix)))
      records += 1
      if (waiting.length === recordsPerSubmission) flush()
      if (reading.session === null) continue
      const reference = `${reading.session}${suffix}`
      const energyWh = (sessions.get(reference)?.energyWh ?? 0) + reading.energyWh
      sessions.set(reference, { reference, site, device: reading.device ?? '', energyWh })
    }
  }
  flush()
  return { submissions, records, sessions: [...sessions.values()] }
}

const submit = async (client: ServiceClient, submission: string): Promise<MeterBatchWire> => {
  const batch = await requestWithRetries<MeterBatchWire>(client, 'PUT', '/meters/interval', submission)
  const [failed] = batch.failed_records
  if (failed !== undefined) throw new Error(`Record ${failed.record_num} of ${batch.id} was refused: ${failed.error}`)
  return batch
}

const awaitStored = async (client: ServiceClient, batch: MeterBatchWire): Promise<void> => {
  for (const deadline = performance.now() + storeTimeoutMs; ; await sleep(pollMs)) {
    const { records_processed: stored, failed_records: failed } = await requestWithRetries<MeterBatchWire>(
      client,
      'GET',
      `/meters/batch?batch_id=${batch.id}`,
    )
    if (stored + failed.length >= batch.records_accepted) return
    if (performance.now() > deadline)
      throw new Error(`${batch.id} has ${stored} of ${batch.records_accepted} records processed after 120 s.`)
  }
}

/** Submit records, and wait until they are processed. */
export const sendRecords = async (client: ServiceClient, records: readonly unknown[]): Promise<void> =>
  awaitStored(client, await submit(client, JSON.stringify(records)))

type OnProgress = {
  readonly sent: (records: number) => void
  readonly allSent: (ms: number) => void
  readonly stored: (records: number) => void
}

/** Send all submissions, eight at a time, then wait until all their records are processed. */
export const sendAll = async (client: ServiceClient, plan: Plan, on: OnProgress): Promise<Delivery> => {
  const startedAt = performance.now()
  let sent = 0
  const batches = await inParallel(plan.submissions, width, async submission => {
    const batch = await submit(client, submission)
    sent += batch.records_accepted
    on.sent(sent)
    return batch
  })
  const acceptedMs = performance.now() - startedAt
  on.allSent(acceptedMs)
  let stored = 0
  await inParallel(batches, width, async batch => {
    await awaitStored(client, batch)
    stored += batch.records_accepted
    on.stored(stored)
  })
  return { records: plan.records, acceptedMs, storedMs: performance.now() - startedAt }
}
