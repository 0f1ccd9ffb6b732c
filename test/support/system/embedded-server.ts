import pg from 'pg'
import { findEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import type { AccountInUse } from './use-system.ts'

/** Use a connection to the embedded server of a system, as its superuser. */
export const withServer = async <T>({ folder }: AccountInUse, use: (client: pg.Client) => Promise<T>): Promise<T> => {
  const address = await findEmbeddedServer(folder)
  if (address === null || 'url' in address) throw new Error('No server runs.')
  const client = new pg.Client({ ...address })
  // The server can end with the killed process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
