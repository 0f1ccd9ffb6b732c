import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { isLoopbackHost } from '../../../../services/platform/webhook-client/address-rule.ts'
import {
  openWebhookHttpClient,
  type WebhookHttpClient,
} from '../../../../services/platform/webhook-client/webhook-http-client.ts'
import { hostileAddresses, hostileHosts } from '../../../support/webhooks/hostile-addresses.ts'
import { openReceiver } from '../../../support/webhooks/receiver.ts'

const local = { allowedNetworks: [], allowsLoopbackInTest: true, timeoutMs: 1_000 }
const post = (client: WebhookHttpClient, url: string, liveMode = false) =>
  client.post({ url, liveMode, headers: {}, body: '{}' })

const isLoopbackAddress = (address: string): boolean => /^(?:::(?:ffff:)?)?127\.|^::1$|^::ffff:7f/i.test(address)

const openCanary = async () => {
  let connections = 0
  const server = createServer(socket => socket.destroy()).on('connection', () => {
    connections += 1
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, connections: () => connections, [Symbol.dispose]: () => void server.close() }
}

describe('a service that only its own machine reaches', () => {
  it('calls this machine in test mode, by address and by names under localhost', async () => {
    await using receiver = await openReceiver()
    const { port } = new URL(receiver.url)
    await using client = openWebhookHttpClient(local)
    for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', 'LOCALHOST.', 'hooks.localhost']) {
      const url = `http://${host}:${port}/hook`
      expect([host, (await client.validateUrl(url, false)).ok]).toEqual([host, true])
    }
    for (const host of ['127.0.0.1', 'localhost', 'hooks.localhost'])
      expect([host, (await post(client, `http://${host}:${port}/hook`)).status]).toEqual([host, 204])
    expect(receiver.received).toHaveLength(3)
  })

  it('never calls this machine in live mode, also after a test delivery to the same origin', async () => {
    using canary = await openCanary()
    const resolve = async () => ['127.0.0.1']
    await using client = openWebhookHttpClient({ ...local, resolve })
    const origin = `https://hooks.example.com:${canary.port}/`
    expect(await post(client, origin)).toMatchObject({ error: 'connection_failed' })
    expect(canary.connections()).toBe(1)
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'a.localhost', 'hooks.example.com']) {
      const url = `https://${host}:${canary.port}/`
      expect([host, (await client.validateUrl(url, true)).ok]).toEqual([host, false])
      expect([host, (await post(client, url, true)).error]).toEqual([host, 'address_forbidden'])
    }
    expect(canary.connections()).toBe(1)
  })

  it('calls no other private network and no other reserved name', async () => {
    using canary = await openCanary()
    const others = hostileAddresses.filter(address => !isLoopbackAddress(address))
    expect(others.length).toBeGreaterThan(30)
    for (const address of others) {
      await using client = openWebhookHttpClient({ ...local, resolve: async () => [address] })
      const url = `http://hooks.example.com:${canary.port}/`
      expect([address, (await post(client, url)).error]).toEqual([address, 'address_forbidden'])
    }
    await using client = openWebhookHttpClient(local)
    for (const host of ['intranet', 'printer.local', 'a.internal', 'host.localdomain', 'nas.home.arpa', '10.0.0.1'])
      expect([host, (await client.validateUrl(`http://${host}/`, false)).ok]).toEqual([host, false])
    expect(canary.connections()).toBe(0)
  })

  it('calls no private network after a redirect or a changed name', async () => {
    await using receiver = await openReceiver(() => ({ status: 307, headers: { location: 'http://10.0.0.1/' } }))
    let lookups = 0
    const resolve = async () => (++lookups === 1 ? ['127.0.0.1'] : ['10.0.0.1'])
    await using client = openWebhookHttpClient({ ...local, resolve })
    expect((await post(client, receiver.url)).status).toBe(307)
    const url = `http://hooks.example.com:${new URL(receiver.url).port}/`
    expect((await client.validateUrl(url, false)).ok).toBe(true)
    expect(await post(client, url)).toMatchObject({ error: 'address_forbidden' })
    expect([receiver.received.length, lookups]).toEqual([1, 2])
  })

  it.each(hostileHosts)('calls %s in test mode only if this machine answers to it', async host => {
    await using strict = openWebhookHttpClient({ ...local, allowedNetworks: [], allowsLoopbackInTest: false })
    expect((await strict.validateUrl(`http://${host}/`, false)).ok).toBe(false)
    await using client = openWebhookHttpClient(local)
    const url = `http://${host}/`
    const { hostname } = new URL(url)
    const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
    const isThisMachine = isLoopbackHost(bare) || bare.endsWith('.localhost')
    expect([host, (await client.validateUrl(url, false)).ok]).toEqual([host, isThisMachine])
  })
})

describe('the host on which a service listens', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['meters.example.com', false],
    ['localhost.example.com', false],
  ])('is reachable from this machine only: %s %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected)
  })
})
