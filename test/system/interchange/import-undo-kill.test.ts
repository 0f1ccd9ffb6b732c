import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import { countsOf, undoAll } from '../../support/interchange/undo-import.ts'
import { type Client, login } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'

const start = Date.UTC(2025, 0, 1)
const quarter = (index: number): string => new Date(start + index * 900_000).toISOString()
const rowCount = 30_000
/** Every third record was stored before the import, with another value. */
const isOlder = (index: number): boolean => index % 3 === 0

const submitRows = async (client: Client, path: string, rows: readonly object[]): Promise<void> => {
  for (let first = 0; first < rows.length; first += 10_000) {
    const { status, text } = await client.send('PUT', path, rows.slice(first, first + 10_000))
    expect(status, text).toBe(200)
  }
}

const energyOf = async (client: Client, home: string): Promise<number> => {
  const range = { start_time: quarter(0), end_time: quarter(rowCount) }
  type Months = { readonly data: readonly { readonly energy: { readonly value: number } }[] }
  const { data }: Months = await client.ask('POST', `/costs/interval/${home}?aggregation=MONTH`, range)
  return data.reduce((sum, { energy: { value } }) => sum + value, 0)
}

/** Add an import that began a minute more than a day ago, to the data of a stopped system. */
const addOldImport = async (folder: string): Promise<void> => {
  const db = await openChdb({ folder: join(folder, 'clickhouse') })
  try {
    await db.command(`INSERT INTO meter_import_batches SELECT account_id, live_mode, 'old', batch_id, false, records_accepted,
      received_at - INTERVAL 1441 MINUTE FROM meter_import_batches LIMIT 1`)
  } finally {
    await db.close()
  }
}

it('an undo that is killed is repeated with the result of an undo that ends; after a day it is refused', {
  timeout: 300_000,
}, async () => {
  const folder = dataFolder()
  await fillDataFolder(folder)
  let system = await startSystem(folder)
  try {
    let client = await login(system.sandbox)
    const home = await makeHome(client, { import: 0.25 }, { timezone: 'UTC' })
    const rows = Array.from({ length: rowCount }, (_, index) => ({
      location_id: home,
      units: 'WH',
      value: 5,
      start_time: quarter(index),
      end_time: quarter(index + 1),
    }))
    const older = rows.flatMap((row, index) => (isOlder(index) ? [{ ...row, value: 2 }] : []))
    await submitRows(client, '/meters/interval', older)
    await submitRows(client, '/meters/interval?import_id=killed', rows)
    await until(
      () => energyOf(client, home),
      energy => energy === 5 * rowCount,
    )
    // The undo of 30,000 records takes longer than the waits.
    for (const waitMs of [150, 400]) {
      const undo = undoAll(client, 'killed').catch(() => null)
      await sleep(waitMs)
      await system.kill()
      expect(await undo).toBeNull()
      system = await startSystem(folder)
      client = await login(system.sandbox)
    }
    const [withdrawn = 0, restored = 0, unchanged = 0, left] = countsOf(await undoAll(client, 'killed')).map(Number)
    expect([withdrawn + restored + unchanged, left]).toEqual([rowCount, 0])
    await until(
      () => energyOf(client, home),
      energy => energy === 2 * older.length,
    )
    expect(countsOf(await undoAll(client, 'killed'))).toEqual([0, 0, rowCount, 0])

    await system[Symbol.asyncDispose]()
    await addOldImport(folder)
    system = await startSystem(folder)
    client = await login(system.sandbox)
    const { status, text } = await client.send('POST', '/meters/imports/undo', { import_id: 'old' })
    expect([status, text]).toEqual([422, expect.stringContaining('began more than 24 hours ago')])
    const { data } = (await client.ask('GET', '/meters/imports')) as {
      readonly data: readonly { readonly id: string }[]
    }
    expect(data.map(({ id }) => id)).toEqual(['killed'])
  } finally {
    await system[Symbol.asyncDispose]()
    removeData(folder)
  }
})
