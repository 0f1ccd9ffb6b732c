import { expect } from 'vitest'
import { tokenOf } from '../registry/accounts.ts'
import { createObjectFixture, type ObjectFixture } from '../registry/object-fixture.ts'
import { type Client, login } from '../system/client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../system/running-system.ts'
import { errorFaults } from './error-object.ts'
import { rawSender } from './raw-http.ts'

type SubmissionAnswer = {
  readonly code?: string
  readonly records_accepted?: number
  readonly failed_records?: readonly { readonly record_num: number; readonly error: string }[]
}

/** A running system with one object of each kind, and short calls to test which input it accepts or refuses. */
export type Probe = AsyncDisposable & {
  readonly system: RunningSystem
  readonly client: Client
  readonly fixture: ObjectFixture
  /**
   * Send a body. Return the status of success, or status and code of an error. An error must match the error object.
   */
  readonly statusOf: (
    method: string,
    path: string,
    body: string,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<number | readonly [number, string]>
  /** Create an acceptable record; `more` replaces members. */
  readonly record: (more?: object) => object
  /**
   * Submit records; strings are raw JSON.
   * Return the number of accepted records, and the number and error of each other record.
   */
  readonly submitElements: (
    elements: readonly (object | string)[],
  ) => Promise<readonly [number | undefined, readonly string[]]>
}

/** Start a system in a temporary folder. Disposing the probe deletes the folder. */
export const openProbe = async (): Promise<Probe> => {
  const folder = dataFolder()
  const system = await startSystem(folder)
  const client = await login(system.sandbox)
  const fixture = await createObjectFixture(client, 'session-17')
  const sender = rawSender(system.sandbox.base_url)
  const token = await tokenOf(system.sandbox, system.sandbox.test_key)
  const ownHeaders = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    system,
    client,
    fixture,
    statusOf: async (method, path, body, headers = {}) => {
      const reply = await sender.send({ method, path, body, headers: { ...ownHeaders, ...headers } })
      if (reply.status < 300) return reply.status
      expect(errorFaults(reply)).toEqual([])
      return [reply.status, String((JSON.parse(reply.text) as SubmissionAnswer).code)]
    },
    record: more => ({
      location_id: fixture.location,
      units: 'KWH',
      value: 1,
      start_time: '2025-09-15T10:00:00Z',
      end_time: '2025-09-15T11:00:00Z',
      ...more,
    }),
    submitElements: async elements => {
      const body = `[${elements.map(one => (typeof one === 'string' ? one : JSON.stringify(one))).join(',')}]`
      const { records_accepted: accepted, failed_records: failed = [] } = (await client.ask(
        'PUT',
        '/meters/interval',
        body,
      )) as SubmissionAnswer
      return [accepted, failed.map(({ record_num, error }) => `${record_num} ${error}`)]
    },
    [Symbol.asyncDispose]: async () => {
      sender.close()
      await system[Symbol.asyncDispose]()
      removeData(folder)
    },
  }
}
