import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSystem()

/** Longest time in ms until a started service has warmed the pages of a small account. */
const warmingMs = 15_000

/** Number of costs that the running service has calculated for requests. */
const calculatedCosts = async (): Promise<number> => {
  const text = await (await fetch(system.running().metricsUrl)).text()
  const counts = [...text.matchAll(/http_requests_total\{[^}]*operation="interval_cost_calculate"[^}]*\} (\d+)/g)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

it('a started service warms the pages of people with a session, and of nobody else', { timeout: 120_000 }, async () => {
  const client = await system.login()
  const home = await makeHome(client, { import: 0.3 })
  const end = Math.floor(Date.now() / 3_600_000) * 3_600_000
  const times = [new Date(end - 3_600_000).toISOString(), new Date(end).toISOString()] as const
  await client.submit([bought(home, 1, ...times)])
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  const visitor: Visitor = await signIn(base, account, key)
  await system.killAndStart()
  // The overview, the costs of this month and those of today. The page of costs asks for the zone first.
  await expect.poll(calculatedCosts, { timeout: warmingMs }).toBeGreaterThanOrEqual(3)
  expect(system.running().output()).not.toContain('Console pages not warmed')

  const cookie = [...visitor.cookies].map(pair => pair.join('=')).join('; ')
  const next = system.sandbox().base_url
  const text = await (await fetch(`${next}/console`, { headers: { cookie } })).text()
  const [, csrf = ''] = /name="csrf" value="(\w+)"/.exec(text) ?? []
  const body = new URLSearchParams({ csrf, form: crypto.randomUUID() })
  const signedOut = await fetch(`${next}/console/sign-out`, {
    ...{ method: 'POST', redirect: 'manual', headers: { cookie, origin: next }, body },
  })
  expect(signedOut.status).toBe(303)
  await system.killAndStart()
  await sleep(warmingMs / 2)
  expect(await calculatedCosts()).toBe(0)
})
