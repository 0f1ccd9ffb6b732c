import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { freePorts } from '../../support/kafka/java-process.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { openReceiver } from '../../support/webhooks/receiver.ts'

// Clients of the test call the public URL, so it is the address on which the service listens.
const [publicPort] = await freePorts(1)

const setting = 'WATTLEDGER_WEBHOOK_ALLOW_NETWORKS'

describe('a service that only its own machine reaches', () => {
  const system = useSystem()

  it('delivers to a receiver on the same machine in test mode, never in live mode', async () => {
    await using receiver = await openReceiver()
    const { port } = new URL(receiver.url)
    const test = await system.login()
    for (const host of ['127.0.0.1', 'localhost'])
      await test.ask('POST', '/webhooks', { url: `http://${host}:${port}/${host}`, event_types: ['customer.*'] })
    await test.ask('POST', '/customers', {})
    await until(
      async () => receiver.received.map(({ path }) => path).sort(),
      paths => paths.length === 2,
    )
    const live = await system.login('live')
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const reply = await live.send('POST', '/webhooks', { url: `https://${host}:${port}/` })
      expect([host, reply.status, reply.json]).toMatchObject([host, 400, { code: 'webhook_url_refused' }])
    }
  })

  it('refuses other private networks in test mode, and names the setting', async () => {
    const test = await system.login()
    for (const host of ['10.0.0.1', '192.168.1.20', 'receiver', 'hooks.internal', '169.254.169.254']) {
      const { status, text } = await test.send('POST', '/webhooks', { url: `http://${host}/` })
      expect([host, status, text.includes(setting)]).toEqual([host, 400, true])
    }
  })
})

describe.each([
  ['a public URL', { WATTLEDGER_PORT: `${publicPort}`, WATTLEDGER_PUBLIC_URL: `http://127.0.0.1:${publicPort}` }],
  ['a trusted proxy', { WATTLEDGER_TRUSTED_PROXIES: '127.0.0.1/32' }],
  ['another address to listen on', { WATTLEDGER_HOST: '0.0.0.0' }],
])('a service with %s', (_, environment) => {
  const system = useSystem(environment)

  it('refuses a receiver on the same machine', async () => {
    const client = await system.login()
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const reply = await client.send('POST', '/webhooks', { url: `http://${host}:4000/` })
      expect([host, reply.status, reply.json]).toMatchObject([host, 400, { code: 'webhook_url_refused' }])
    }
  })
})

describe('the pages that a refused user reads', () => {
  it.each(['docs/webhooks.md', 'docs/errors.md', 'docs/rules/events-and-webhooks.md'])('%s names the setting', page => {
    expect(readFileSync(page, 'utf8')).toContain(setting)
  })
})
