import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createOtherAccount, openRecords } from '../../support/registry/accounts.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSystem()

/** Longest time in ms until a started service has warmed the pages of a small account. */
const warmingMs = 15_000

/** Number of requests for an operation that the running service has answered. */
const answersOf = async (operation: string): Promise<number> => {
  const text = await (await fetch(system.running().metricsUrl)).text()
  const counts = [...text.matchAll(/http_requests_total\{[^}]*operation="(\w+)"[^}]*\} (\d+)/g)]
  return counts.reduce((sum, [, name, count]) => sum + (name === operation ? Number(count) : 0), 0)
}

const calculatedCosts = (): Promise<number> => answersOf('interval_cost_calculate')

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
  await expect.poll(calculatedCosts, { timeout: 60_000 }).toBeGreaterThanOrEqual(3)
  expect(system.running().output()).not.toContain('Console pages not warmed')

  const cookie = [...visitor.cookies].map(pair => pair.join('=')).join('; ')
  const next = system.sandbox().base_url
  const text = await (await fetch(`${next}/console`, { headers: { cookie } })).text()
  const [, csrf = ''] = /name="csrf" value="(\w+)"/.exec(text) ?? []
  const body = new URLSearchParams({ csrf, form: crypto.randomUUID() })
  const signedOut = await fetch(`${next}/console/sign-out`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: next },
    body,
  })
  expect(signedOut.status).toBe(303)
  await system.killAndStart()
  await sleep(warmingMs / 2)
  expect(await calculatedCosts()).toBe(0)
})

it('warms the five accounts and modes with the newest sessions', { timeout: 120_000 }, async () => {
  await using records = await openRecords(system.folder)
  for (let count = 0; count < 3; count += 1) {
    const account = await createOtherAccount(records, system.folder, system.sandbox())
    for (const key of [account.test_key, account.live_key]) await signIn(account.base_url, account.account_id, key)
  }
  await system.killAndStart()
  // The work reads the overview of each account for its time zone, and the first page reads it again.
  const warmed = async (): Promise<number> => (await answersOf('account_overview_retrieve')) / 2
  await expect.poll(warmed, { timeout: 60_000 }).toBe(5)
  await sleep(warmingMs / 5)
  expect(await warmed()).toBe(5)
})
