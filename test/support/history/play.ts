import { setTimeout as sleep } from 'node:timers/promises'
import { recordIdDigits } from '../../../services/ingest-gateway/record-id.ts'
import type { Client } from '../client.ts'
import { exactBody, exactNumber } from '../exact-json.ts'
import { placeTariff, versionBody } from '../scenario-over-http.ts'
import { until } from '../until.ts'
import { anyArrival, arrivalInOrder, type ReadingForm, type RecordForm, type Request, usesMarket, type Wave } from './arrivals.ts'
import { flows, type History, instant, readingName, type SentRecord, type SentRegister, type TariffStep } from './history.ts'

/** Where histories are played: an account and mode, and devices that all of them share. */
export type Stage = {
  readonly client: Client
  readonly accountId: string
  readonly liveMode: boolean
  readonly deviceIds: readonly string[]
}

/** A location at which a history is played. */
export type Played = {
  readonly locationId: string
  readonly marketId: string | null
  /** By the names of the history. */
  readonly tariffIds: Map<string, string>
  readonly references: ReadonlyMap<string, string>
  readonly batchIds: string[]
}

type WithId = { readonly id: string }

/**
 * Give each record a reference. Records that end together are counted in the order of their ids, which hang on the location: the
 * references are chosen so that it is that of the names at every location.
 */
const referencesOf = (stage: Stage, locationId: string, records: readonly SentRecord[]): ReadonlyMap<string, string> => {
  const references = new Map<string, string>()
  for (const tied of Map.groupBy(records, ({ end }) => end).values()) {
    for (const [place, record] of tied.entries()) {
      const isInPlace = (digits: string): boolean => Math.floor((Number.parseInt(digits.slice(0, 4), 16) * tied.length) / 0x10000) === place
      const named = (salt: number): string => `${record.name}~${salt}`
      let salt = 0
      while (!isInPlace(recordIdDigits(stage, identityOf(stage, locationId, record, named(salt))))) {
        salt += 1
      }
      references.set(record.name, named(salt))
    }
  }
  return references
}

const identityOf = ({ deviceIds }: Stage, locationId: string, record: SentRecord, reference: string) => ({
  locationId,
  deviceId: record.device === null ? null : (deviceIds[record.device] ?? null),
  ...flows[record.flow],
  start: record.start,
  end: record.end,
  sessionReferenceId: record.session,
  recordReferenceId: reference,
})

/** Make an empty location with what a history needs. */
const makeLocation = async (stage: Stage, history: History): Promise<Played> => {
  const { client } = stage
  const market = { display_name: 'prices of a history', currency_code: 'EUR' }
  const marketId = usesMarket(history) ? ((await client.ask('POST', '/markets', market)) as WithId).id : null
  const body = { timezone: history.zone, currency_code: 'EUR', ...(marketId === null ? {} : { market_sources: { import: marketId } }) }
  const { id: locationId } = (await client.ask('POST', '/locations', body)) as WithId
  return { locationId, marketId, tariffIds: new Map(), references: referencesOf(stage, locationId, history.records), batchIds: [] }
}

const objectBody = ({ deviceIds }: Stage, { locationId }: Played, { device, flow, session }: SentRecord | SentRegister) => ({
  location_id: locationId,
  ...(device === null ? {} : { device_id: deviceIds[device] }),
  ...(session === null ? {} : { session_reference_id: session }),
  energy_flow_direction: flows[flow].energyFlowDirection,
  tariff_direction: flows[flow].tariffDirection,
})

const recordBody = (stage: Stage, played: Played, { record, form }: RecordForm) => ({
  ...objectBody(stage, played, record),
  record_reference_id: played.references.get(record.name),
  units: 'WH',
  value: exactNumber(form.energy, 6),
  confidence: exactNumber(BigInt(form.confidence), 6),
  start_time: instant(record.start),
  end_time: instant(record.end),
})

const submit = async ({ client }: Stage, played: Played, path: string, body: string): Promise<void> => {
  const receipt = (await client.ask('PUT', path, body)) as { id: string; failed_records: unknown[] }
  if (receipt.failed_records.length > 0) throw new Error(`refused: ${JSON.stringify(receipt.failed_records)} of ${body}`)
  played.batchIds.push(receipt.id)
}

const sendRecords = async (stage: Stage, played: Played, records: readonly RecordForm[], isAlone: boolean): Promise<void> => {
  const bodies = records.map(one => recordBody(stage, played, one))
  if (isAlone) {
    const { status, text } = await stage.client.send('POST', '/costs/instant', exactBody(bodies[0]))
    if (status === 200) return
    // Without a price nothing is stored; without an answer it is not known.
    if (status !== 422 && status !== 503) throw new Error(`POST /costs/instant gave ${status}: ${text}`)
  }
  await submit(stage, played, '/meters/interval', exactBody(bodies))
}

const sendReadings = (stage: Stage, played: Played, register: SentRegister, readings: readonly ReadingForm[]): Promise<void> => {
  const data = readings.map(({ reading, value }) => ({
    time: reading.time / 1000,
    value: exactNumber(value, 6),
    record_reference_id: readingName(register, reading),
  }))
  return submit(stage, played, '/meters/cumulative/epoch', exactBody({ ...objectBody(stage, played, register), units: 'WH', data }))
}

const changeTariff = async ({ client }: Stage, { locationId, tariffIds }: Played, step: TariffStep): Promise<void> => {
  if (step.kind === 'create') {
    tariffIds.set(step.tariff.id, await placeTariff(client, step.tariff, locationId))
    return
  }
  const path = `/tariffs/${tariffIds.get(step.id)}`
  if (step.kind === 'void') await client.ask('DELETE', `${path}?void=true`)
  else if (step.kind === 'reprice') await client.ask('PATCH', path, exactBody(versionBody(step.version, step.marketRates)))
  else await client.ask('PATCH', path, { contract_end_date: step.contractEnd === null ? null : instant(step.contractEnd) })
}

const send = async (stage: Stage, played: Played, request: Request): Promise<void> => {
  if (request.kind === 'records') return sendRecords(stage, played, request.records, request.isAlone)
  if (request.kind === 'readings') return sendReadings(stage, played, request.register, request.readings)
  if (request.kind === 'tariff') return changeTariff(stage, played, request.step)
  const { start, stepMs } = request.block
  const prices = request.prices.map((value, index) => ({
    start_time: instant(start + index * stepMs),
    end_time: instant(start + (index + 1) * stepMs),
    value: exactNumber(value, 9),
  }))
  await stage.client.ask('PUT', `/markets/${played.marketId}/prices`, exactBody(prices))
}

type Receipt = { readonly records_submitted: number; readonly records_processed: number; readonly failed_records: readonly unknown[] }

const processed = ({ client }: Stage, batchId: string): Promise<Receipt> =>
  until(
    async () => (await client.ask('GET', `/meters/batch?batch_id=${batchId}`)) as Receipt,
    receipt => receipt.records_processed + receipt.failed_records.length >= receipt.records_submitted,
  )

const play = async (stage: Stage, history: History, waves: readonly Wave[]): Promise<Played> => {
  const played = await makeLocation(stage, history)
  for (const { requests, pauseMs } of waves) {
    const before = played.batchIds.length
    await Promise.all(requests.map(request => send(stage, played, request)))
    if (pauseMs === null) await Promise.all(played.batchIds.slice(before).map(batchId => processed(stage, batchId)))
    else if (pauseMs > 0) await sleep(pauseMs)
  }
  return played
}

/** Play a history in the order of time, everything in its last form. */
export const playInOrder = (stage: Stage, history: History): Promise<Played> => play(stage, history, arrivalInOrder(history))

/** Play a history in the order and the cut that its seed gives. */
export const playAnyhow = (stage: Stage, history: History): Promise<Played> => play(stage, history, anyArrival(history))
