import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'
import type { StatementAnswer } from './statement-answer.ts'

export type BatchAnswer = {
  readonly id: string
  readonly status: 'RUNNING' | 'DONE' | 'STOPPED'
  readonly total: number
  readonly done: number
  readonly failed_count: number
  readonly failed: readonly { readonly object_id: string; readonly code: string; readonly message: string }[]
}

export type ExportedStatement = StatementAnswer & { readonly location_id: string }

/** Start a batch. Throws if it is refused. */
export const startBatch = async (client: Client, body: object): Promise<BatchAnswer> =>
  (await client.ask('POST', '/statements/batch', body)) as BatchAnswer

export const readBatch = async (client: Client, id: string): Promise<BatchAnswer> =>
  (await client.ask('GET', `/statements/batch/${id}`)) as BatchAnswer

/** Wait until a batch is DONE. */
export const doneBatch = (client: Client, id: string): Promise<BatchAnswer> =>
  until(
    () => readBatch(client, id),
    ({ status }) => status === 'DONE',
  )

/** Read the statements of a batch, by location. */
export const exportOf = async (client: Client, id: string): Promise<readonly ExportedStatement[]> => {
  const reply = await client.send('GET', `/statements/batch/${id}/export`)
  if (reply.status !== 200) throw new Error(`The export answered ${reply.status}: ${reply.text}`)
  return reply.text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
