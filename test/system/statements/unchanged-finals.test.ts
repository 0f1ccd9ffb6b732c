import { beforeAll, describe, expect, it } from 'vitest'
import { amountsOf, linesOf, postStatement, type StatementAnswer } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { withServer } from '../../support/system/embedded-server.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const march = { start_date: '2025-03-01', end_date: '2025-04-01', expect: 'NOTHING' }
const april = { ...march, start_date: '2025-04-01', end_date: '2025-05-01' }

const on = (home: string, kwh: number, date: string, more: object = {}) =>
  bought(home, kwh, `2025-${date}T10:00:00Z`, `2025-${date}T11:00:00Z`, more)

const final = async (home: string, body: object): Promise<StatementAnswer> => {
  const { id } = await postStatement(client, home, body)
  return (await client.ask('POST', `/statements/${id}/finalise`, {})) as StatementAnswer
}

/** Return the adjustments of the draft of April, by component. */
const adjustmentsOf = async (home: string): Promise<Record<string, number>> => {
  const lines = linesOf(await postStatement(client, home, april)).filter(({ kind }) => kind === 'ADJUSTMENT')
  return Object.fromEntries(lines.map(({ component, amount }) => [component, amount]))
}

/** Calculate March now, by another request, and return its amounts less those of the FINAL statement. */
const differenceOf = async (home: string, finalMarch: StatementAnswer): Promise<Record<string, number>> => {
  const [before, now] = [
    amountsOf(finalMarch),
    amountsOf(await postStatement(client, home, { ...march, detail: 'PRICE' })),
  ]
  const components = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()
  const differences = components.map(
    name => [name, Number(((now[name] ?? 0) - (before[name] ?? 0)).toFixed(9))] as const,
  )
  return Object.fromEntries(differences.filter(([, amount]) => amount !== 0))
}

const chargeOf = async (body: object): Promise<string> =>
  ((await client.ask('POST', '/charges', body)) as { readonly id: string }).id

describe('an unchanged FINAL statement', () => {
  it('is compared without a calculation', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const { id } = await final(home, march)
    expect(await adjustmentsOf(home)).toEqual({})
    // The draft compares the stored lines, so other stored lines lead to an adjustment.
    const changed = await withServer(system, async server => {
      const { rowCount } = await server.query(
        `update statements set current_lines = replace(current_lines::text, '1000000000', '1250000000')::json where id = $1`,
        [id],
      )
      return rowCount
    })
    expect(changed).toBe(1)
    expect(await adjustmentsOf(home)).toEqual({ energy: 0.25 })
    // A change of the rows makes the stored lines invalid.
    await client.submit([on(home, 1, '03-06')])
    expect(await adjustmentsOf(home)).toEqual({ energy: 0.1 })
  })

  it('is calculated again after each change that can move its amounts', { timeout: 120_000 }, async () => {
    const home = await makeHome(client, { import: 0.1 })
    const { id: device } = (await client.ask('POST', '/devices', { reference_id: 'car' })) as { readonly id: string }
    const ofDevice = { device_id: device }
    await client.submit([on(home, 10, '03-05', ofDevice), on(home, 3, '03-06', ofDevice)])
    const finalMarch = await final(home, march)
    let charge = ''
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['a late record', () => client.submit([on(home, 4, '03-07', ofDevice)])],
      ['a correction', () => client.submit([on(home, 2, '03-06', ofDevice)])],
      [
        'a charge',
        async () => {
          charge = await chargeOf({ location_id: home, kind: 'FIXED', name: 'Base', price: 2, per: 'MONTH' })
        },
      ],
      ['an end of the charge', () => client.ask('PATCH', `/charges/${charge}`, { end_date: '2025-03-16' })],
      ['no charge', () => client.ask('DELETE', `/charges/${charge}`)],
      ['an own record in another month', () => client.submit([on(home, 7, '06-01')])],
    ]
    for (const [name, change] of changes) {
      await change()
      const seen = await until(
        async () => [await adjustmentsOf(home), await differenceOf(home, finalMarch), await adjustmentsOf(home)],
        ([draft, difference]) => JSON.stringify(draft) === JSON.stringify(difference),
      )
      expect(seen[0], name).toEqual(seen[1])
      expect(seen[2], name).toEqual(seen[1])
    }
    // The own record of June leaves the device out of March as well: 10 + 3 kWh x 0.10 are adjusted away.
    expect(await adjustmentsOf(home)).toEqual({ energy: -1.3 })
  })
})
