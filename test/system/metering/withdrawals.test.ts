import { beforeAll, describe, expect, it } from 'vitest'
import type { ExactEnergyCost } from '../../support/exact/exact-answers.ts'
import { askExactly } from '../../support/exact/exact-json.ts'
import { amountsOf, linesOf, postStatement, refusalOf } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Receipt = {
  readonly records_submitted: number
  readonly records_processed: number
  readonly failed_records: readonly unknown[]
}

const day = Date.parse('2025-03-05T00:00:00Z') / 1000

/** Submit readings (hour of 5 March, kWh) of a session and wait until all are processed. */
const read = async (
  home: string,
  readings: readonly (readonly [hour: number, kwh: number | null])[],
  session: object = {},
): Promise<void> => {
  const data = readings.map(([hour, value]) => ({ time: day + hour * 3600, value }))
  const body = { location_id: home, units: 'KWH', data, ...session }
  const { id } = (await client.ask('PUT', '/meters/cumulative/epoch', body)) as { readonly id: string }
  await until(
    async () => (await client.ask('GET', `/meters/batch?batch_id=${id}`)) as Receipt,
    receipt => receipt.records_processed + receipt.failed_records.length >= receipt.records_submitted,
  )
}

const march = { start_date: '2025-03-01', end_date: '2025-04-01', expect: 'NOTHING' }
const april = { ...march, start_date: '2025-04-01', end_date: '2025-05-01' }

const amountsOfElements = ({ data }: ExactEnergyCost) =>
  data.map(({ energy, tariff }) => [Number(energy.value), Number(tariff.cost.value)])

/** Return energy in Wh and cost of the days of a location. */
const costOfDays = async (home: string) => {
  const interval = { start_time: '2025-03-01T00:00:00+01:00', end_time: '2025-04-01T00:00:00+02:00' }
  return amountsOfElements(
    await askExactly(client, 'POST', `/costs/interval/${home}?aggregation=DAY`, interval),
  ).filter(([energy]) => energy !== 0)
}

const costOfSession = async (session: string) =>
  amountsOfElements(await askExactly(client, 'POST', `/costs/session/${session}`))

describe('after a reading is withdrawn', () => {
  it('the tiers of later records are those of the readings that are left', async () => {
    const home = await makeTieredHome(client)
    await read(home, [
      [0, 100],
      [6, 108],
      [12, 112],
    ])
    await client.submit([bought(home, 2, '2025-03-06T10:00:00Z', '2025-03-06T11:00:00Z')])
    // 10 × 0.1 + 2 × 0.5, then 2 × 0.5.
    expect(await costOfDays(home)).toEqual([
      [12_000, 2],
      [2000, 1],
    ])
    // 8 × 0.1, then 2 × 0.1. The correction to the same energy has the same costs.
    const withoutLast = [
      [8000, 0.8],
      [2000, 0.2],
    ]
    await read(home, [[12, null]])
    expect(
      await until(
        () => costOfDays(home),
        found => found[1]?.[1] !== 1,
      ),
    ).toEqual(withoutLast)
    await read(home, [[12, 112]])
    expect(
      await until(
        () => costOfDays(home),
        found => found[1]?.[1] === 1,
      ),
    ).toEqual([
      [12_000, 2],
      [2000, 1],
    ])
    await read(home, [[12, 108]])
    expect(
      await until(
        () => costOfDays(home),
        found => found[1]?.[1] !== 1,
      ),
    ).toEqual(withoutLast)
  })

  it('the cost of a session has only the intervals that are left', async () => {
    const home = await makeHome(client, { import: 0.5 })
    const [evening, night] = [{ session_reference_id: 'evening' }, { session_reference_id: 'night' }]
    await read(home, [[0, 100]], evening)
    await read(home, [[1, 103]], evening)
    await read(home, [[2, 105]], night)
    expect([await costOfSession('evening'), await costOfSession('night')]).toEqual([[[3000, 1.5]], [[2000, 1]]])
    // The next reading closes the interval of both hours.
    await read(home, [[1, null]], evening)
    expect([await costOfSession('evening'), await costOfSession('night')]).toEqual([[], [[5000, 2.5]]])
    await read(home, [[1, 101]], evening)
    expect([await costOfSession('evening'), await costOfSession('night')]).toEqual([[[1000, 0.5]], [[4000, 2]]])
    await read(home, [[2, null]], night)
    expect([await costOfSession('evening'), await costOfSession('night')]).toEqual([[[1000, 0.5]], []])
  })

  it('a draft has other amounts, and the next draft adjusts a FINAL statement', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await read(home, [
      [0, 100],
      [10, 110],
      [20, 115],
      [22, 140],
    ])
    const first = await postStatement(client, home, march)
    expect(amountsOf(first)).toEqual({ energy: 4 })
    await read(home, [[22, null]])
    const finalise = (hash: string) => client.send('POST', `/statements/${first.id}/finalise`, { hash })
    expect(refusalOf(await finalise(first.hash))).toEqual([409, 'statement_changed'])
    const draft = await postStatement(client, home, march)
    expect(amountsOf(draft)).toEqual({ energy: 1.5 })
    expect((await client.send('POST', `/statements/${draft.id}/finalise`, { hash: draft.hash })).status).toBe(200)
    const adjustments = async () =>
      linesOf(await postStatement(client, home, april)).map(({ kind, amount }) => [kind, amount])
    expect(await adjustments()).toEqual([])
    await read(home, [[20, null]])
    expect(await adjustments()).toEqual([['ADJUSTMENT', -0.5]])
    await read(home, [[20, 117]])
    expect(await adjustments()).toEqual([['ADJUSTMENT', 0.2]])
    // Without its first reading, the register has only the energy from 10:00 to 20:00.
    await read(home, [[0, null]])
    expect(await adjustments()).toEqual([['ADJUSTMENT', -0.8]])
  })

  it('the events are those after a correction: a reading changes no object and no price', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await read(home, [
      [0, 100],
      [1, 110],
    ])
    const events = () => client.ask('GET', `/events?object_id=${home}`)
    const before = (await events()) as { readonly data: readonly unknown[] }
    expect(before.data.length).toBeGreaterThan(0)
    await read(home, [[1, 105]])
    expect(await events()).toEqual(before)
    await read(home, [[1, null]])
    expect(await costOfDays(home)).toEqual([])
    expect(await events()).toEqual(before)
  })
})
