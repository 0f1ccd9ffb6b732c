import { afterAll, describe, expect, it } from 'vitest'
import { login } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'

const [before, after] = ['the secret before it was changed: long', 'the secret after it was changed: long'] as const
const folder = dataFolder()
let system: RunningSystem | undefined
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const startWith = async (variables: Readonly<Record<string, string>>): Promise<RunningSystem> => {
  if (system !== undefined) expect(await system.stop()).toBe(0)
  // Clients with a token continue at the same address.
  system = await startSystem(folder, variables)
  return system
}

describe('a changed secret', () => {
  it('keeps tokens and keys valid while the former secret is configured; used keys outlive it', async () => {
    const { sandbox } = await startWith({ WATTLEDGER_SECRET: before })
    const client = await login(sandbox)
    const home = await makeHome(client, { import: 0.3 })
    const receipt = (await client.submit([bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])) as {
      id: string
    }
    const connect = { connect_url: 'https://a.example.com', callback_url: 'https://a.example.com/done' }
    const { connect_token: token } = (await client.ask('POST', '/connect/token', connect)) as { connect_token: string }
    const key = { 'Idempotency-Key': 'a webhook' }
    const hook = { url: 'https://1.1.1.1/hooks', event_types: ['customer.create'] }
    const made = await client.ask('POST', '/webhooks', hook, key)
    const clientBefore = await login(sandbox)

    const port = new URL(sandbox.base_url).port
    const rotated = await startWith({
      WATTLEDGER_SECRET: after,
      WATTLEDGER_FORMER_SECRETS: before,
      WATTLEDGER_PORT: port,
    })
    expect(rotated.sandbox.base_url).toBe(sandbox.base_url)
    expect(await clientBefore.ask('GET', `/meters/batch?batch_id=${receipt.id}`)).toMatchObject({
      records_processed: 1,
    })
    expect(await clientBefore.send('GET', `/connect/token?connect_token=${token}`)).toMatchObject({
      status: 422,
      json: { code: 'pending_connect' },
    })
    expect(await clientBefore.ask('POST', '/webhooks', hook, key)).toEqual(made)
    const fresh = await login(rotated.sandbox)
    await fresh.ask('GET', '/account')

    await startWith({ WATTLEDGER_SECRET: after, WATTLEDGER_PORT: port })
    expect(await clientBefore.send('GET', '/account')).toMatchObject({ status: 401, json: { code: 'bad_credentials' } })
    await fresh.ask('GET', '/account')
    await (await login(rotated.sandbox)).ask('GET', '/account')
    const unused = Buffer.from(`${sandbox.account_id}:${sandbox.live_key}`).toString('base64')
    expect((await fetch(`${sandbox.base_url}/login`, { headers: { Authorization: `Basic ${unused}` } })).status).toBe(
      401,
    )
  })
})
