import { describe, expect, it } from 'vitest'
import { type Client, login } from '../../support/system/client.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'
import { crawlConsole } from '../../support/web/crawl.ts'

const system = useSharedSystem()
const secretText = 'hush-0198c0ffee'

/** Make all calls of `paths` and return those whose answer contains the secret. */
const pathsWithSecret = async (client: Client, paths: readonly string[]): Promise<readonly string[]> => {
  const found: string[] = []
  for (const path of paths) {
    const { status, text } = await client.send('GET', path)
    expect([path, status]).toEqual([path, 200])
    if (text.includes(secretText)) found.push(path)
  }
  return found
}

describe('a secret in the query of a webhook URL', () => {
  it('is shown to keys that may change endpoints only', async () => {
    const sandbox = system.sandbox()
    const { account_id: account, base_url: base, test_key: ownKey } = sandbox
    const own = await system.login()
    const url = `https://1.1.1.1/hooks?token=${secretText}`
    const { id } = (await own.ask('POST', '/webhooks', { url })) as { readonly id: string }
    await own.ask('PATCH', `/webhooks/${id}`, { description: 'Billing' })
    const { event_id: event } = (await own.ask('POST', `/webhooks/${id}/test`)) as { readonly event_id: string }
    const owner = await signIn(base, account, ownKey)
    const page = await owner.send('/console/keys', '/console/keys', { scope: 'read', description: 'reader' })
    const readKey = /sk_test_\w+/.exec(page.text)?.[0] ?? expect.fail(page.text)
    const paths = ['/webhooks', `/webhooks/${id}`, '/events?event_type=webhook_endpoint.test', `/events/${event}`]
    for (const apiVersion of ['current', 'earlier'] as const) {
      const reader = await login({ ...sandbox, test_key: readKey }, 'test', apiVersion)
      expect(await pathsWithSecret(await system.login('test', apiVersion), paths)).toEqual(paths)
      expect(await pathsWithSecret(reader, paths)).toEqual([])
    }
    const reader = await login({ ...sandbox, test_key: readKey })
    const log = `/audit-log?object_id=${id}`
    expect(await pathsWithSecret(own, [log])).toEqual([log])
    expect(await pathsWithSecret(reader, [log])).toEqual([])
    expect((await reader.ask('GET', `/webhooks/${id}`)) as object).toMatchObject({ url: 'https://1.1.1.1/hooks?***' })

    const period = { start_time: '2025-09-14T00:00:00Z', end_time: new Date(Date.now() + 60_000).toISOString() }
    const order = { kind: 'events', format: 'ndjson', ...period }
    const { id: exported } = (await reader.ask('POST', '/exports', order)) as { readonly id: string }
    await until(
      () => reader.ask('GET', `/exports/${exported}`) as Promise<{ readonly status: string }>,
      ({ status }) => status === 'DONE',
    )
    const file = await reader.send('GET', `/exports/${exported}/file`)
    expect([file.text.includes(event), file.text.includes(secretText)]).toEqual([true, false])

    const starts = ['/console/webhooks', `/console/webhooks/${id}`, `/console/events/${event}`]
    starts.push('/console/events', '/console/audit-log')
    const files = ['/console/webhooks?csv=webhooks', '/console/events?csv=events', '/console/audit-log?csv=audit-log']
    for (const [key, isShown] of [
      [ownKey, true],
      [readKey, false],
    ] as const) {
      const visitor = await signIn(base, account, key)
      const load = async (path: string): Promise<string> => (await visitor.get(path)).text
      for (const path of [...starts.filter(one => one !== '/console/events'), ...files])
        expect([path, (await load(path)).includes(secretText)]).toEqual([path, isShown])
      if (isShown) continue
      await crawlConsole(base, starts, async (_, path) => {
        const text = await load(path)
        expect([path, text.includes(secretText)]).toEqual([path, false])
        return text
      })
    }
  })
})
