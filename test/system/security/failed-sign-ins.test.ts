import { afterAll, describe, expect, it } from 'vitest'
import { login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { dataFolder, removeData, startSystem } from '../../support/system/running-system.ts'
import { openVisitor } from '../../support/web/console-visitor.ts'

const folder = dataFolder()
afterAll(() => removeData(folder))

type Entry = {
  readonly actor: string
  readonly action: string
  readonly object_id: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Create a user with a password. Returns the id of the user. */
const createUser = async (baseUrl: string, client: Awaited<ReturnType<typeof login>>, address: string) => {
  const { id, link } = (await client.ask('POST', '/users', { address, role: 'read' })) as { id: string; link: string }
  const { pathname, search } = new URL(link, baseUrl)
  const password = 'a long and secret sentence'
  const page = await openVisitor(baseUrl).send(`${pathname}${search}`, pathname, { password, repeated: password })
  expect(page.status, page.text).toBe(303)
  return id
}

describe('failed sign-ins', () => {
  it('have one audit entry for each user or key and peer, at the latest after a stop', async () => {
    await fillDataFolder(folder)
    await using system = await startSystem(folder)
    const { sandbox } = system
    const { account_id: account, base_url: baseUrl, test_key: testKey } = sandbox
    const client = await login(sandbox, 'live')
    const userId = await createUser(baseUrl, client, 'ada@example.com')

    const command = async (...args: readonly string[]) => {
      const { code, out, err } = await runCommand([...args, '--json'], { WATTLEDGER_DATA_DIR: folder })
      expect(code, err).toBe(0)
      return JSON.parse(out) as { readonly id: string; readonly secret: string }
    }
    const { id: keyId, secret } = await command('keys', 'create', account, '--mode', 'live')
    await command('keys', 'revoke', account, keyId)

    const attempt = (accountId: string, key: string) =>
      fetch(`${baseUrl}/login`, {
        headers: { Authorization: `Basic ${Buffer.from(`${accountId}:${key}`).toString('base64')}` },
      })
    for (let times = 0; times < 3; times += 1) expect((await attempt(account, secret)).status).toBe(401)
    const wrongSignature = { headers: { Authorization: `Bearer ${secret}` } }
    expect((await fetch(`${baseUrl}/account`, wrongSignature)).status).toBe(401)
    expect((await attempt(account, 'sk_test_wrong')).status).toBe(401)
    expect((await attempt(`acc_${'0'.repeat(24)}`, testKey)).status).toBe(401)
    expect((await attempt(`acc_${'0'.repeat(24)}`, 'sk_live_wrong')).status).toBe(401)

    const visitor = openVisitor(baseUrl)
    for (const address of ['ada@example.com', 'ada@example.com', 'nobody@example.com']) {
      const sent = { address, password: 'another long sentence' }
      expect((await visitor.send('/console/sign-in', '/console/sign-in/password', sent)).status).toBe(401)
    }

    const failed = async (mode: 'live' | 'test', from: typeof sandbox): Promise<readonly Entry[]> => {
      const log = (await (await login(from, mode)).ask('GET', '/audit-log?limit=100')) as { data: readonly Entry[] }
      return log.data.filter(({ action }) => action.endsWith('.sign_in_failed'))
    }
    expect(await failed('live', sandbox)).toEqual([])
    expect(await system.stop()).toBe(0)

    await using again = await startSystem(folder)
    const live = await failed('live', again.sandbox)
    const by = (entries: readonly Entry[]) =>
      new Map(entries.map(entry => [`${entry.action} ${entry.object_id}`, entry]))
    expect([...by(live).keys()].toSorted()).toEqual([
      `api_key.sign_in_failed ${keyId}`,
      `user.sign_in_failed ${userId}`,
    ])
    expect(by(live).get(`user.sign_in_failed ${userId}`)).toMatchObject({
      actor: 'system',
      detail: { reason: 'wrong_password', peer: '127.0.0.1', attempts: 2 },
    })
    const revoked = by(live).get(`api_key.sign_in_failed ${keyId}`)?.detail
    expect(revoked).toMatchObject({ reason: 'revoked_key', peer: '127.0.0.1', attempts: 4 })
    expect(Date.parse(String(revoked?.['first_at']))).toBeLessThanOrEqual(Date.parse(String(revoked?.['last_at'])))
    expect((await failed('test', again.sandbox)).map(({ detail }) => detail['reason']).toSorted()).toEqual([
      'wrong_account',
      'wrong_key',
    ])
  })
})
