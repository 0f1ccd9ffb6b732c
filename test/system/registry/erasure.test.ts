import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
let client: Client | undefined
beforeAll(async () => {
  client = await system.login()
})

const ready = (): Client => client ?? expect.fail('the system is not ready')

type Receipt = {
  readonly id: string
  readonly failed_records: readonly { readonly record_reference_id: string | null; readonly error: string }[]
}

const receiptOf = (id: string): Promise<Receipt> =>
  ready().ask('GET', `/meters/batch?batch_id=${id}`) as Promise<Receipt>

/** Create submissions with a marker word in every text field, each refused at another field of a record. */
const submitWords = async (locationId: string, deviceId: string, word: string): Promise<readonly string[]> => {
  const caller = ready()
  const [start, end] = ['2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z']
  const words = { record_reference_id: `${word} record`, session_reference_id: `${word} session` }
  const good = bought(locationId, 1, start, end, words)
  const records = [
    { ...good, units: `${word} unit` },
    { ...good, start_time: end, end_time: start },
    { ...good, [`${word} member`]: 1 },
    { ...good, device_id: `dev_${'0'.repeat(24)}` },
    { ...good, device_id: deviceId, value: -1 },
    { ...good, location_id: `reference:${word} home`, value: -1 },
    good,
    good,
  ]
  const plain = [good, { ...good, device_id: `dev_${'0'.repeat(24)}` }]
  const submit = async (method: string, path: string, body: unknown) =>
    ((await caller.ask(method, path, body)) as Receipt).id
  const register = { location_id: locationId, units: 'WH', session_reference_id: `${word} session` }
  const readings = [5_000, 4_000].map((value, index) => ({
    time: 1_748_858_400 + index * 3_600,
    value,
    record_reference_id: `${word} reading ${index}`,
  }))
  return [
    await submit('PUT', '/meters/interval', records),
    await submit('PUT', '/meters/interval', plain),
    await submit('PUT', '/meters/cumulative/epoch', {
      ...register,
      data: [...readings, { ...readings[0], record_reference_id: `${word} duplicate` }],
    }),
    // An import that replaces a reading stores the earlier one for its undo. The text of its failure names no word.
    await submit('PUT', `/meters/cumulative/epoch?import_id=${word}`.replace('canary-', ''), {
      ...register,
      data: [{ ...readings[0], value: 6_000 }, ...readings.slice(1)],
    }),
  ]
}

/** Use the reference of a location before the location exists. */
const submitEarly = async (word: string): Promise<string> => {
  const words = { record_reference_id: `${word} record` }
  const record = bought(`reference:${word} home`, 1, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z', words)
  return ((await ready().ask('PUT', '/meters/interval', [record, { ...record, value: -1 }])) as Receipt).id
}

describe('failure texts about an erased location', () => {
  it('are in no receipt and no table, and texts about other locations remain', async () => {
    const caller = ready()
    const device = await makeOne(caller, '/devices', { reference_id: 'a wall box' })
    const early = await Promise.all(['canary-erased', 'canary-stays'].map(submitEarly))
    const createWordHome = (word: string) => makeHome(caller, { import: 0.3 }, { reference_id: `${word} home` })
    const [erased, other] = [await createWordHome('canary-erased'), await createWordHome('canary-stays')]
    const gone = [...(await submitWords(erased, device, 'canary-erased')), ...early.slice(0, 1)]
    const stays = [...(await submitWords(other, device, 'canary-stays')), ...early.slice(1)]
    const seen = await until(
      () => Promise.all([...gone, ...stays].map(receiptOf)),
      receipts =>
        receipts.every(({ failed_records: failed }) => failed.length > 0) &&
        JSON.stringify(receipts).includes('register'),
      20_000,
    )
    const count = seen.slice(0, gone.length).map(({ failed_records: failed }) => failed.length)
    expect(JSON.stringify(seen)).toContain('canary-erased record')
    const named = ['--account', system.sandbox().account_id, '--mode', 'test']
    expect((await runCommand(['erase', erased, ...named], { WATTLEDGER_DATA_DIR: system.folder })).code).toBe(0)
    const receipts = await until(
      () => Promise.all(gone.map(receiptOf)),
      after => !JSON.stringify(after).includes('canary-erased'),
      60_000,
    )
    expect(receipts.map(({ failed_records: failed }) => failed.length)).toEqual(count)
    for (const { failed_records: failed } of receipts)
      for (const one of failed)
        expect(one).toMatchObject({ record_reference_id: null, error: 'The record was erased.' })
    expect(JSON.stringify(await Promise.all(stays.map(receiptOf)))).toContain('canary-stays record')

    expect(await system.running().stop()).toBe(0)
    const db = await openChdb({ folder: join(system.folder, 'clickhouse') })
    try {
      const tables = await db.rows(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'",
      )
      const found: string[] = []
      for (const [table] of tables) {
        const [[words, others] = []] = await db.rows(
          `SELECT toUInt32(countIf(position(toString(tuple(*)), 'canary-erased') > 0)), toUInt32(countIf(position(toString(tuple(*)), 'canary-stays') > 0)) FROM \`${table}\``,
        )
        if (Number(words) > 0) found.push(`${table}: erased`)
        if (Number(others) > 0) found.push(`${table}: stays`)
      }
      expect(found).toContain('meter_batch_failures: stays')
      expect(found).toContain('meter_earlier_values: stays')
      expect(found.filter(createWordHome => createWordHome.endsWith('erased'))).toEqual([])
    } finally {
      await db.close()
    }
  }, 120_000)
})
