import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { intervalCost } from '../../contract/costs/energy-cost.ts'
import { type MeterBatchWire, meterIntervalSubmit } from '../../contract/metering/meter-batch.ts'
import { locationCreate, locationDelete } from '../../contract/registry/location.ts'
import { tariffCreate } from '../../contract/tariffs/tariff.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import type { Command } from '../command.ts'
import { logIn, refusalOf, type ServiceClient, serviceClient } from '../service-client.ts'
import { readTarget, type ServiceTarget, targetOptions } from '../target.ts'

/** Result of a diagnostic step; `ms` is its duration. */
type DiagnosticStep = {
  readonly step: string
  readonly ok: boolean
  readonly ms: number
  /** Finding of a successful step, reason of a failed step. */
  readonly message: string
  /** Next action of the user; null after a successful step. */
  readonly advice: string | null
}

/** A step failed, and no further step runs. The last step contains the reason. */
class DiagnosticsStopped extends Error {}

/** Runs diagnostic steps in order, measures and prints each, and stops at the first failure. */
type Diagnostics = {
  readonly steps: readonly DiagnosticStep[]
  /** Run a step; `describe` turns its value into text. Throws `DiagnosticsStopped`. */
  readonly step: <T>(
    name: string,
    advice: string,
    work: () => Promise<T>,
    describe?: (value: T) => string,
  ) => Promise<T>
}

const nameWidth = 22

const stepLine = ({ step, ok, ms, message }: DiagnosticStep): string => {
  const mark = ok ? styleText('green', '✓') : styleText('red', '✗')
  const time = `${Math.round(ms).toLocaleString('en')} ms`.padStart(9)
  return `  ${mark} ${step.padEnd(nameWidth)} ${styleText('dim', time)}  ${message}`.trimEnd()
}

/** Start a run. `onProgress` receives a line after each step, and the advice after a failed step. */
const startDiagnostics = (onProgress: (line: string) => void): Diagnostics => {
  const steps: DiagnosticStep[] = []
  const finishStep = (result: DiagnosticStep): void => {
    steps.push(result)
    onProgress(stepLine(result))
    if (result.advice !== null) onProgress(`\n    ${result.advice}`)
  }
  return {
    steps,
    step: async (name, advice, work, describe = () => '') => {
      const startedAt = performance.now()
      try {
        const value = await work()
        finishStep({ step: name, ok: true, ms: performance.now() - startedAt, message: describe(value), advice: null })
        return value
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        finishStep({ step: name, ok: false, ms: performance.now() - startedAt, message, advice })
        throw new DiagnosticsStopped(message, { cause: error })
      }
    },
  }
}

type Health = { readonly status: string; readonly checks: Readonly<Record<string, boolean>> }
type CreatedObject = { readonly id: string }
const storedTimeoutMs = 20_000

/** 3.2 kWh × 0.25 EUR/kWh = 0.80 EUR. */
const testRecord = { energyWh: 3_200, price: 0.25, cost: 0.8 } as const

const advice = {
  answers: 'Start the service with "npm start", which prints its address. Set another address with --base-url.',
  live: 'A background loop has stopped. Find the failed component in the log of the service, then restart the service.',
  ready:
    'A store does not answer. Check the disk of the data folder, and PostgreSQL if WATTLEDGER_POSTGRES_URL is set.',
  login: 'Check the key with "npx wattledger keys list ACCOUNT". WATTLEDGER_SECRET must not change after key creation.',
  write: 'The API refuses changes. The message gives the reason. Check PostgreSQL, which stores these objects.',
  send: 'The ingest gateway refuses records. Check the free disk space, WATTLEDGER_LOG_MAX_GIB and the service log.',
  store:
    'The record is durable, but no cost worker has stored its cost. Check /health/live, the lag metrics and the log.',
  cost: 'The stored cost is wrong. GET /meters/records?location_id=… shows the price of the record.',
} as const

/**
 * Send one test record through a running service: health, login, location and tariff, submission, receipt, cost.
 * The created objects are deleted, also after a failure. Throws `DiagnosticsStopped` at the first failed step.
 */
const checkRecordPath = async (diagnostics: Diagnostics, target: ServiceTarget, at: number): Promise<void> => {
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
    await diagnostics.step('clean up', advice.write, () => client.ask(locationDelete, { id: location.id }))
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
  if (answer.body?.checks === undefined) throw new Error(`GET ${path} answered ${answer.status} without checks.`)
  const checks = Object.entries(answer.body.checks)
  const failing = checks.filter(([, isWell]) => !isWell).map(([name]) => name)
  if (failing.length > 0) throw new Error(`${failing.join(', ')} failed.`)
  return checks.map(([name]) => name)
}

const createLocation = (client: ServiceClient, reference: string): Promise<CreatedObject> =>
  client.ask(locationCreate, {}, { reference_id: reference, timezone: 'Etc/UTC', currency_code: 'EUR' })

const createTariff = (client: ServiceClient, locationId: string): Promise<CreatedObject> =>
  client.ask(
    tariffCreate,
    {},
    {
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
    },
  )

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
  const submit = (value: number) => client.ask(meterIntervalSubmit, {}, [{ ...record, value }])
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

/** Return the receipt if its only record was accepted. Throws the reason of a refused record. */
const requireAccepted = (batch: MeterBatchWire): MeterBatchWire => {
  const [failed] = batch.failed_records
  if (failed !== undefined) throw new Error(`The record was refused: ${failed.error}.`)
  if (batch.records_accepted !== 1) throw new Error(`${batch.records_accepted} records were accepted instead of 1.`)
  return batch
}

const awaitStored = async (client: ServiceClient, batchId: string): Promise<void> => {
  const path = `/meters/batch?batch_id=${batchId}`
  let state = 'The receipt was not visible'
  for (const deadline = performance.now() + storedTimeoutMs; performance.now() < deadline; await sleep(20)) {
    const answer = await client.call<MeterBatchWire>('GET', path)
    if (answer.status === 503) continue
    if (answer.status !== 200 || answer.body === null) throw refusalOf('GET', path, answer)
    if (requireAccepted(answer.body).records_processed === 1) return
    state = 'The record was not processed'
  }
  throw new Error(`${state} within ${storedTimeoutMs / 1000} s.`)
}

type TimeWindow = { readonly start_time: string; readonly end_time: string }

const readCost = async (client: ServiceClient, locationId: string, interval: TimeWindow): Promise<number> => {
  const { data } = await client.ask(intervalCost, { id: locationId }, interval)
  const [element] = data
  const energy = element?.energy.value
  const cost = element?.tariff?.cost.value
  if (energy !== testRecord.energyWh || cost !== testRecord.cost) {
    throw new Error(`The cost is ${cost} for ${energy} Wh. Expected: ${testRecord.cost} for ${testRecord.energyWh} Wh.`)
  }
  return cost
}

export const doctorCommand: Command = {
  name: 'doctor',
  operands: [],
  summary: 'Send a test record and report the first failure.',
  details: [
    'Checks health and login, creates a location with a tariff in test mode, sends one record and compares its cost.',
    'Deletes the created objects. Default address and key: sandbox.json in the data folder.',
  ],
  options: targetOptions,
  run: async input => {
    const target = readTarget(input)
    const diagnostics = startDiagnostics(input.onProgress)
    const startedAt = performance.now()
    let ok = true
    try {
      await checkRecordPath(diagnostics, target, input.at)
      input.onProgress(`\n  All checks passed in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
    } catch (error) {
      if (!(error instanceof DiagnosticsStopped)) throw error
      ok = false
    }
    return { ok, text: '', json: { ok, base_url: target.baseUrl, steps: diagnostics.steps } }
  },
}
