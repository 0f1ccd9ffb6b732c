import { setTimeout as sleep } from 'node:timers/promises'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'
import { exactBody, exactNumber } from '../exact/exact-json.ts'
import { createTariff, versionBody } from '../scenarios/scenario-over-http.ts'
import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'
import {
  arrivalInOrder,
  type ReadingForm,
  type RecordForm,
  type Request,
  shuffledArrival,
  usesMarket,
  type Wave,
} from './arrivals.ts'
import {
  flows,
  type History,
  instant,
  readingName,
  type SentRecord,
  type SentRegister,
  type TariffStep,
} from './history.ts'
import { registerBody } from './register-rules.ts'

/** Account and mode in which histories are played, and the devices that all histories share. */
export type PlayContext = {
  readonly client: Client
  readonly accountId: string
  readonly liveMode: boolean
  readonly deviceIds: readonly string[]
}

/** A location at which a history is played. */
export type PlayedLocation = {
  readonly locationId: string
  readonly marketId: string | null
  /** Ids of tariffs by their names in the history. */
  readonly tariffIds: Map<string, string>
  readonly references: ReadonlyMap<string, string>
  readonly batchIds: string[]
}

type WithId = { readonly id: string }

/**
 * Choose a reference for each record, by record name.
 * Records with the same end are counted in the order of their ids, and an id depends on the location.
 * The chosen references give the same counting order at every location.
 */
const referencesOf = (
  context: PlayContext,
  locationId: string,
  records: readonly SentRecord[],
): ReadonlyMap<string, string> => {
  const references = new Map<string, string>()
  for (const sameEnd of Map.groupBy(records, ({ end }) => end).values()) {
    for (const [index, record] of sameEnd.entries()) {
      const hasOrderIndex = (digits: string): boolean =>
        Math.floor((Number.parseInt(digits.slice(0, 4), 16) * sameEnd.length) / 0x10000) === index
      const referenceFor = (salt: number): string => `${record.name}~${salt}`
      let salt = 0
      while (!hasOrderIndex(recordIdDigits(context, identityOf(context, locationId, record, referenceFor(salt))))) {
        salt += 1
      }
      references.set(record.name, referenceFor(salt))
    }
  }
  return references
}

const identityOf = ({ deviceIds }: PlayContext, locationId: string, record: SentRecord, reference: string) => ({
  locationId,
  deviceId: record.device === null ? null : (deviceIds[record.device] ?? null),
  ...flows[record.flow],
  start: record.start,
  end: record.end,
  sessionReferenceId: record.session,
  recordReferenceId: reference,
})

/** Create a location, and a market if the history has market prices. */
const makeLocation = async (context: PlayContext, history: History): Promise<PlayedLocation> => {
  const { client } = context
  const market = { display_name: 'prices of a history', currency_code: 'EUR' }
  const marketId = usesMarket(history) ? ((await client.ask('POST', '/markets', market)) as WithId).id : null
  const body = {
    timezone: history.zone,
    currency_code: 'EUR',
    ...registerBody(history.locationRule),
    ...(marketId === null ? {} : { market_sources: { import: marketId } }),
  }
  const { id: locationId } = (await client.ask('POST', '/locations', body)) as WithId
  return {
    locationId,
    marketId,
    tariffIds: new Map(),
    references: referencesOf(context, locationId, history.records),
    batchIds: [],
  }
}

const objectBody = (
  { deviceIds }: PlayContext,
  { locationId }: PlayedLocation,
  { device, flow, session }: SentRecord | SentRegister,
) => ({
  location_id: locationId,
  ...(device === null ? {} : { device_id: deviceIds[device] }),
  ...(session === null ? {} : { session_reference_id: session }),
  energy_flow_direction: flows[flow].energyFlowDirection,
  tariff_direction: flows[flow].tariffDirection,
})

const recordBody = (context: PlayContext, location: PlayedLocation, { record, form }: RecordForm) => ({
  ...objectBody(context, location, record),
  record_reference_id: location.references.get(record.name),
  units: 'WH',
  value: exactNumber(form.energy, 6),
  confidence: exactNumber(BigInt(form.confidence), 6),
  start_time: instant(record.start),
  end_time: instant(record.end),
})

const submit = async ({ client }: PlayContext, location: PlayedLocation, path: string, body: string): Promise<void> => {
  const receipt = (await client.ask('PUT', path, body)) as { id: string; failed_records: unknown[] }
  if (receipt.failed_records.length > 0)
    throw new Error(`refused: ${JSON.stringify(receipt.failed_records)} of ${body}`)
  location.batchIds.push(receipt.id)
}

const sendRecords = async (
  context: PlayContext,
  location: PlayedLocation,
  records: readonly RecordForm[],
  isInstantCost: boolean,
): Promise<void> => {
  const bodies = records.map(one => recordBody(context, location, one))
  if (isInstantCost) {
    const { status, text } = await context.client.send('POST', '/costs/instant', exactBody(bodies[0]))
    if (status === 200) return
    // After 422, no price is known and nothing is stored. After 503, the result is unknown.
    if (status !== 422 && status !== 503) throw new Error(`POST /costs/instant answered ${status}: ${text}`)
  }
  await submit(context, location, '/meters/interval', exactBody(bodies))
}

const sendReadings = (
  context: PlayContext,
  location: PlayedLocation,
  register: SentRegister,
  readings: readonly ReadingForm[],
): Promise<void> => {
  const data = readings.map(({ reading, value }) => ({
    time: reading.time / 1000,
    value: value === null ? null : exactNumber(value, 6),
    record_reference_id: readingName(register, reading),
    ...(reading.isRestart ? { restart: true } : {}),
  }))
  return submit(
    context,
    location,
    '/meters/cumulative/epoch',
    exactBody({ ...objectBody(context, location, register), units: 'WH', data }),
  )
}

const changeTariff = async (
  { client }: PlayContext,
  { locationId, tariffIds }: PlayedLocation,
  step: TariffStep,
): Promise<void> => {
  if (step.kind === 'create') {
    tariffIds.set(step.tariff.id, await createTariff(client, step.tariff, locationId))
    return
  }
  const path = `/tariffs/${tariffIds.get(step.id)}`
  if (step.kind === 'void') await client.ask('DELETE', `${path}?void=true`)
  else if (step.kind === 'reprice')
    await client.ask('PATCH', path, exactBody(versionBody(step.version, step.marketRates)))
  else
    await client.ask('PATCH', path, { contract_end_date: step.contractEnd === null ? null : instant(step.contractEnd) })
}

const send = async (context: PlayContext, location: PlayedLocation, request: Request): Promise<void> => {
  if (request.kind === 'records') return sendRecords(context, location, request.records, request.isInstantCost)
  if (request.kind === 'readings') return sendReadings(context, location, request.register, request.readings)
  if (request.kind === 'tariff') return changeTariff(context, location, request.step)
  const { start, stepMs } = request.block
  const prices = request.prices.map((value, index) => ({
    start_time: instant(start + index * stepMs),
    end_time: instant(start + (index + 1) * stepMs),
    value: exactNumber(value, 9),
  }))
  await context.client.ask('PUT', `/markets/${location.marketId}/prices`, exactBody(prices))
}

type Receipt = {
  readonly records_submitted: number
  readonly records_processed: number
  readonly failed_records: readonly unknown[]
}

/** Long enough for the slow work of a history on a busy machine. */
const maxPendingMs = 240_000

const waitUntilProcessed = ({ client }: PlayContext, batchId: string): Promise<unknown> =>
  until(
    () => client.send('GET', `/meters/batch?batch_id=${batchId}`),
    ({ status, json }) => {
      const receipt = json as unknown as Receipt
      return status === 200 && receipt.records_processed + receipt.failed_records.length >= receipt.records_submitted
    },
    maxPendingMs,
  )

const play = async (context: PlayContext, history: History, waves: readonly Wave[]): Promise<PlayedLocation> => {
  const location = await makeLocation(context, history)
  for (const { requests, pauseMs } of waves) {
    const before = location.batchIds.length
    await Promise.all(requests.map(request => send(context, location, request)))
    if (pauseMs === null)
      await Promise.all(location.batchIds.slice(before).map(batchId => waitUntilProcessed(context, batchId)))
    else if (pauseMs > 0) await sleep(pauseMs)
  }
  return location
}

/** Play a history in the order of time, with all data in its last form. */
export const playInOrder = (context: PlayContext, history: History): Promise<PlayedLocation> =>
  play(context, history, arrivalInOrder(history))

/** Play a history in the random order and the random requests of its seed. */
export const playShuffled = (context: PlayContext, history: History): Promise<PlayedLocation> =>
  play(context, history, shuffledArrival(history))
