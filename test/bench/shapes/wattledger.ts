import { tokenOf } from '../../support/registry/accounts.ts'
import { login } from '../../support/system/client.ts'
import { engineAt, startDistributed } from '../distributed/distributed-system.ts'
import type { SharedStores } from '../distributed/shared-stores.ts'
import { createFleet } from '../fleet/fleet.ts'
import { countsOf, type Pipeline, unreadOf } from './pipeline.ts'

const countsBetween = (from: number, to: number): string =>
  `SELECT lower(hex(device_id)), toUnixTimestamp64Milli(start_time), count() FROM meter_cost FINAL
   WHERE start_time >= fromUnixTimestamp64Milli(${from}) AND start_time < fromUnixTimestamp64Milli(${to}) GROUP BY 1, 2`

/** Start the product, on the same broker as the shapes and the same kind of ClickHouse. */
export const openWattledger = async (shared: SharedStores, locationCount: number): Promise<Pipeline> => {
  await using opening = new AsyncDisposableStack()
  const system = opening.use(await startDistributed(shared))
  const fleet = await createFleet(await login(system.sandbox()), locationCount, locationCount * 2)
  const db = opening.adopt(engineAt(system.engineUrl), one => one.close())
  const token = await tokenOf(system.sandbox(), system.sandbox().test_key)
  const open = opening.move()
  return {
    name: 'Wattledger',
    gatewayUrl: system.gatewayUrl(),
    token,
    fleet,
    rows: async () => Number((await db.rows('SELECT count() FROM meter_cost'))[0]?.[0]),
    counts: (from, to) => countsOf(system.engineUrl, countsBetween(from, to)),
    unread: () => unreadOf(shared.brokers, [[`${system.prefix}meter.records.v1`, `${system.prefix}cost-worker`]]),
    kill: part => system.restart(part === 'writer' ? 'cost-worker' : 'ingest-gateway', 'SIGKILL'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
