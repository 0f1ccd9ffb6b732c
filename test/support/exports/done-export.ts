import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'

/** Create an export of tariffs, wait until it is done, and return its id. */
export const doneExport = async (client: Client): Promise<string> => {
  const period = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
  const body = { kind: 'tariffs', format: 'ndjson', ...period }
  // An account has few unfinished exports.
  const created = await until(
    () => client.send('POST', '/exports', body),
    ({ status }) => status !== 429,
  )
  const { id } = created.json as { readonly id: string }
  await until(
    async () => (await client.ask('GET', `/exports/${id}`)) as { readonly status: string },
    ({ status }) => status === 'DONE',
  )
  return id
}
