import { afterAll, beforeAll, expect } from 'vitest'
import { currentInstant } from '../../../services/platform/clock.ts'
import type { Tenant } from '../../../services/platform/postgres/transaction.ts'
import type { Call } from '../registry/service.ts'
import { makeTenants } from '../stores/postgres.ts'
import { callAs, type Gateway, makeObjects, openGateway } from './gateway.ts'

/** The gateway of a test file, and an account with a location and a device. `useGateway` creates them. */
export let gateway: Gateway
export let live: Tenant
export let call: Call
export let locationId = ''
export let deviceId = ''

/** Open the gateway before the tests of a file. Close it after the tests. */
export const useGateway = (): void => {
  beforeAll(async () => {
    gateway = await openGateway()
    live = (await makeTenants(gateway.database)).live
    call = callAs(gateway.app, live)
    ;({ locationId, deviceId } = await makeObjects(gateway, live, 'home'))
  })
  afterAll(() => gateway[Symbol.asyncDispose]())
}

const hourMs = 3_600_000

/** Start of the first record, in ms: a full hour, 24 hours ago. */
export const start = Math.floor(currentInstant() / hourMs) * hourMs - 24 * hourMs

/** Create a record of one second. `index` counts the seconds from `start`. */
export const record = (index: number, change: object = {}) => ({
  location_id: locationId,
  units: 'WH',
  value: index + 0.25,
  start_time: new Date(start + index * 1000).toISOString(),
  end_time: new Date(start + index * 1000 + 1000).toISOString(),
  ...change,
})

export const many = (count: number) => Array.from({ length: count }, (_, index) => record(index))

export type Batch = {
  readonly id: string
  readonly records_submitted: number
  readonly records_accepted: number
  readonly failed_records: readonly { record_num: number; record_reference_id: string | null; error: string }[]
}

/** Submit records of intervals. Expects status 200. */
export const submit = async (body: unknown, headers = {}): Promise<Batch> => {
  const answer = await call('PUT', '/meters/interval', body, headers)
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)])
  return answer.body as unknown as Batch
}
