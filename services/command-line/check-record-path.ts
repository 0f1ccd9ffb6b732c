import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MeterBatchWire } from '../contract/metering/meter-batch.ts'
import { writeInstant } from '../domain/instant.ts'
import type { Diagnostics } from './doctor.ts'
import { logIn, refusalOf, type ServiceClient, serviceClient } from './service-client.ts'
import type { ServiceTarget } from './target.ts'

type Health = { readonly status: string; readonly checks: Readonly<Record<string, boolean>> }
type CreatedObject = { readonly id: string }
type EnergyCost = {
  readonly data: readonly {
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

const hourMs = 3_600_000
const storedTimeoutMs = 20_000

/** 3.2 kWh at 0.25 a kWh. */
const testRecord = { energyWh: 3_200, price: 0.25, cost: 0.8 } as const

const advice = {
  answers: 'Is the service running? "npm start" starts it and prints its address; --base-url names another one.',
  live: 'A loop does not move: the log of the service says which part failed and why. A restart is safe.',
  ready:
    'A store does not answer: check the disk of the data folder, and PostgreSQL where WATTLEDGER_POSTGRES_URL is set.',
  login:
    '"npx wattledger keys list ACCOUNT" shows which keys work; WATTLEDGER_SECRET must be the one that they were made with.',
  write: 'The interface answers and changes are refused: the message says why; PostgreSQL holds these objects.',
  send: 'The ingest gateway or the log does not take records: free room on the disk of the data folder, WATTLEDGER_LOG_MAX_GIB, the log of the service.',
  store:
    'The record is safe in the log and no cost-worker stores it: /health/live, the metrics of the lag, and the log of the service tell why.',
  cost: 'The record is stored and its cost does not come out: GET /meters/records?location_id=… shows how it was priced.',
} as const

/**
 * Take one record through a running system in test mode: health, login, location and tariff, submission, receipt, cost.
 * What was made is deleted again, also after a failure. Throws `WalkStopped` at the first step that fails.
 */
export const checkRecordPath = async (diagnostics: Diagnostics, target: ServiceTarget, at: number): Promise<void> => {
  await checkHealth(diagnostics, target.baseUrl)
  const client = await diagnostics.step(
    'log in',
    advice.login,
    () => logIn(target.baseUrl, target.account, target.key),
    () => target.account,
  )
  const reference = `doctor-${randomBytes(6).toString('hex')}`
  const location = await diagnostics.step(
    'create a location',
    advice.write,
    () => createLocation(client, reference),
    ({ id }) => id,
  )
  try {
    await checkTariffToCost(diagnostics, client, location.id, reference, at)
  } finally {
    await diagnostics.step('clean up', advice.write, () => client.ask('DELETE', `/locations/${location.id}`))
  }
}

const checkHealth = async (diagnostics: Diagnostics, baseUrl: string): Promise<void> => {
  const anonymous = serviceClient(baseUrl, {})
  await diagnostics.step(
    'reach the service',
    advice.answers,
    () => anonymous.call('GET', '/health/live'),
    () => baseUrl,
  )
  for (const healthPage of ['live', 'ready'] as const) {
    await diagnostics.step(
      `health: ${healthPage}`,
      advice[healthPage],
      () => readHealth(anonymous, `/health/${healthPage}`),
      checks => checks.join(', '),
    )
  }
}

const readHealth = async (client: ServiceClient, path: string): Promise<readonly string[]> => {
  const answer = await client.call<Health>('GET', path)
  if (answer.body?.checks === undefined) throw new Error(`GET ${path} answered ${answer.status} without checks`)
  const checks = Object.entries(answer.body.checks)
  const failing = checks.filter(([, isWell]) => !isWell).map(([name]) => name)
  if (failing.length > 0) throw new Error(`${failing.join(', ')} is not well`)
  return checks.map(([name]) => name)
}

const createLocation = (client: ServiceClient, reference: string): Promise<CreatedObject> =>
  client.ask('POST', '/locations', { reference_id: reference, timezone: 'Etc/UTC', currency_code: 'EUR' })

const createTariff = (client: ServiceClient, locationId: string): Promise<CreatedObject> =>
  client.ask('POST', '/tariffs', {
    location_id: locationId,
    direction: 'IMPORT',
    type: 'COMMODITY',
    display_name: 'doctor',
    schedule: [
      {
        days_and_hours: [
          { hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: testRecord.price }] }] },
        ],
      },
    ],
  })

const checkTariffToCost = async (
  diagnostics: Diagnostics,
  client: ServiceClient,
  locationId: string,
  reference: string,
  at: number,
): Promise<void> => {
  await diagnostics.step(
    'create a tariff',
    advice.write,
    () => createTariff(client, locationId),
    ({ id }) => id,
  )
  const end = Math.floor(at / hourMs) * hourMs
  const interval = { start_time: writeInstant(end - hourMs), end_time: writeInstant(end) }
  const record = { location_id: locationId, record_reference_id: reference, units: 'WH', ...interval }
  const submit = (value: number) => client.ask<MeterBatchWire>('PUT', '/meters/interval', [{ ...record, value }])
  const batch = await diagnostics.step(
    'send a record',
    advice.send,
    async () => requireAccepted(await submit(testRecord.energyWh)),
    ({ id }) => id,
  )
  await diagnostics.step('see it stored', advice.store, () => awaitStored(client, batch.id))
  await diagnostics.step(
    'read its cost',
    advice.cost,
    () => readCost(client, locationId, interval),
    cost => `${cost} EUR`,
  )
  await diagnostics.step('cancel the record', advice.send, async () => requireAccepted(await submit(0)))
}

/** Give a receipt whose only record was taken; throws with the reason of the record that was not. */
const requireAccepted = (batch: MeterBatchWire): MeterBatchWire => {
  const [failed] = batch.failed_records
  if (failed !== undefined) throw new Error(`the record was refused: ${failed.error}`)
  if (batch.records_accepted !== 1) throw new Error(`${batch.records_accepted} records were accepted instead of 1`)
  return batch
}

const awaitStored = async (client: ServiceClient, batchId: string): Promise<void> => {
  const path = `/meters/batch?batch_id=${batchId}`
  let state = 'the receipt was not visible'
  for (const deadline = performance.now() + storedTimeoutMs; performance.now() < deadline; await sleep(20)) {
    const answer = await client.call<MeterBatchWire>('GET', path)
    if (answer.status === 503) continue
    if (answer.status !== 200 || answer.body === null) throw refusalOf('GET', path, answer)
    if (requireAccepted(answer.body).records_processed === 1) return
    state = 'the receipt still said that it was not processed'
  }
  throw new Error(`${state} after ${storedTimeoutMs / 1000} s`)
}

const readCost = async (client: ServiceClient, locationId: string, interval: object): Promise<number> => {
  const { data } = await client.ask<EnergyCost>('POST', `/costs/interval/${locationId}`, interval)
  const [element] = data
  const energy = element?.energy.value
  const cost = element?.tariff.cost.value
  if (energy !== testRecord.energyWh || cost !== testRecord.cost) {
    throw new Error(
      `${testRecord.energyWh} Wh at ${testRecord.price} per kWh cost ${testRecord.cost}; the service says ${energy} Wh and ${cost}`,
    )
  }
  return cost
}
