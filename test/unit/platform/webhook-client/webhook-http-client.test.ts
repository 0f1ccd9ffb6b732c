import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressRule } from '../../../../services/platform/webhook-client/address-rule.ts'
import {
  openWebhookHttpClient,
  type PostOutcome,
} from '../../../../services/platform/webhook-client/webhook-http-client.ts'
import { brokenUrls, hostileAddresses, hostileHosts } from '../../../support/webhooks/hostile-addresses.ts'
import { openReceiver } from '../../../support/webhooks/receiver.ts'

/** A server that counts its connections, which must stay 0. */
type Canary = { readonly server: Server; readonly port: number; connections: number }

const openCanary = async (host: string): Promise<Canary> => {
  const canary: Canary = { server: createServer(socket => socket.destroy()), port: 0, connections: 0 }
  canary.server.on('connection', () => {
    canary.connections += 1
  })
  await new Promise<void>(resolve => canary.server.listen(0, host, resolve))
  return Object.assign(canary, { port: (canary.server.address() as AddressInfo).port })
}

let canary: Canary | undefined
let canary6: Canary | undefined

beforeAll(async () => {
  canary = await openCanary('0.0.0.0')
  canary6 = await openCanary('::1')
})

afterAll(() => {
  canary?.server.close()
  canary6?.server.close()
})

const both = () => {
  if (canary === undefined || canary6 === undefined) throw new Error('there are no canaries')
  return { canary, canary6 }
}

const post = (
  url: string,
  resolve: (host: string) => Promise<readonly string[]>,
  allowedNetworks: readonly string[] = [],
) => {
  const webhookClient = openWebhookHttpClient({ allowedNetworks, resolve, timeoutMs: 1_000 })
  const sent = webhookClient.post({ url, liveMode: false, headers: {}, body: '{}' })
  return sent.finally(() => webhookClient[Symbol.asyncDispose]())
}

const nothing = async (): Promise<readonly string[]> => {
  throw new Error('this host must not be looked up')
}

const named = (url: string, { error, status }: PostOutcome) => [url, error, status]

describe('a webhook to an address that is not public', () => {
  it('is never called for any answer of the name servers', async () => {
    const { canary: four, canary6: six } = both()
    expect(hostileAddresses.length + hostileHosts.length).toBeGreaterThan(60)
    const mayDial = addressRule([])
    expect(hostileAddresses.filter(mayDial)).toEqual([])
    for (const address of hostileAddresses) {
      for (const port of [four.port, six.port]) {
        const url = `http://hooks.example.com:${port}/`
        expect(named(address, await post(url, async () => [address]))).toEqual([address, 'address_forbidden', null])
      }
    }
    expect([four.connections, six.connections]).toEqual([0, 0])
  })

  it('is never called in any notation or alphabet', async () => {
    const { canary: four, canary6: six } = both()
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [] })
    for (const host of hostileHosts) {
      for (const port of [four.port, six.port]) {
        const url = `http://${host}:${port}/`
        expect([url, (await webhookClient.validateUrl(url, false)).ok]).toEqual([url, false])
        const sent = await webhookClient.post({ url, liveMode: false, headers: {}, body: '{}' })
        expect(named(url, sent)).toEqual([url, 'address_forbidden', null])
      }
    }
    await webhookClient[Symbol.asyncDispose]()
    expect([four.connections, six.connections]).toEqual([0, 0])
  })

  it('is reported to the operator when it is refused, by address and by name', async () => {
    const hosts: string[] = []
    const resolve = async (): Promise<readonly string[]> => ['10.0.0.1']
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve, onForbidden: host => hosts.push(host) })
    await webhookClient.validateUrl('http://10.0.0.2/hook', false)
    await webhookClient.validateUrl('https://hooks.example.com/hook', true)
    await webhookClient.validateUrl('https://hooks.example.com:25/hook', true)
    await webhookClient[Symbol.asyncDispose]()
    expect(hosts).toEqual(['10.0.0.2', 'hooks.example.com'])
  })

  it('is not called by a name that was public at its validation', async () => {
    const { canary: four } = both()
    let lookups = 0
    const rebinding = async (): Promise<readonly string[]> => {
      lookups += 1
      return lookups === 1 ? ['93.184.216.34'] : ['127.0.0.1']
    }
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve: rebinding })
    const url = `http://rebinding.example.com:${four.port}/`
    expect(await webhookClient.validateUrl(url, false)).toEqual({ ok: true, value: url })
    expect(await webhookClient.post({ url, liveMode: false, headers: {}, body: '{}' })).toMatchObject({
      error: 'address_forbidden',
    })
    await webhookClient[Symbol.asyncDispose]()
    // The client tries public addresses only.
    const mixed = await post(url, async () => ['127.0.0.1', '::1', '240.0.0.1', '10.0.0.1'])
    expect([mixed.error, lookups, four.connections]).toEqual(['address_forbidden', 2, 0])
  })

  it('is called if the operator allows its network, which shows that the canary works', async () => {
    const { canary: four } = both()
    const dialled = await post(`http://hooks.example.com:${four.port}/`, async () => ['127.0.0.1'], ['127.0.0.0/8'])
    expect([dialled.error, four.connections]).toEqual(['connection_failed', 1])
    four.connections = 0
    const other = await post(`http://hooks.example.com:${four.port}/`, async () => ['127.0.0.1'], [
      '10.0.0.0/8',
      '::/0',
    ])
    expect([other.error, four.connections]).toEqual(['address_forbidden', 0])
  })
})

describe('the address of a webhook', () => {
  it.each(brokenUrls)('is refused: %s', async url => {
    const webhookClient = openWebhookHttpClient({ allowedNetworks: ['0.0.0.0/0', '::/0'], resolve: nothing })
    expect(await webhookClient.validateUrl(url, false)).toMatchObject({
      ok: false,
      refusal: { code: 'webhook_url_refused', field: 'url' },
    })
    expect(await webhookClient.post({ url, liveMode: false, headers: {}, body: '' })).toMatchObject({
      status: null,
      error: 'address_forbidden',
    })
    await webhookClient[Symbol.asyncDispose]()
  })

  it.each([
    'localhost',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    'intranet',
    'host.localdomain',
    'nas.home.arpa',
    'LOCAL.LOCAL.',
  ])('is refused at once for a reserved name: %s', async host => {
    const url = `https://${host}/`
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve: nothing })
    expect(await webhookClient.validateUrl(url, true)).toMatchObject({
      ok: false,
      refusal: { code: 'webhook_url_refused', field: 'url' },
    })
    expect(await webhookClient.post({ url, liveMode: true, headers: {}, body: '' })).toMatchObject({
      status: null,
      error: 'address_forbidden',
    })
    await webhookClient[Symbol.asyncDispose]()
    // An operator who allows private networks can have such names. Their addresses are validated.
    const allowing = openWebhookHttpClient({ allowedNetworks: ['10.0.0.0/8'], resolve: async () => ['10.0.0.1'] })
    expect((await allowing.validateUrl('https://receiver/', true)).ok).toBe(true)
    await allowing[Symbol.asyncDispose]()
  })

  it('has labels of at most 63 characters and 253 in all: n passes, n + 1 is refused', async () => {
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve: async () => ['93.184.216.34'] })
    const ok = async (host: string) => (await webhookClient.validateUrl(`https://${host}/`, true)).ok
    const label = 'a'.repeat(63)
    expect([await ok(`${label}.example.com`), await ok(`${label}a.example.com`)]).toEqual([true, false])
    const long = `${label}.${label}.${label}.`
    expect([
      await ok(`${long}${'a'.repeat(57)}.com`),
      await ok(`${long}${'a'.repeat(58)}.com`),
      await ok('a..example.com'),
    ]).toEqual([true, false, false])
    await webhookClient[Symbol.asyncDispose]()
  })

  it('is https in live mode', async () => {
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve: async () => ['93.184.216.34'] })
    expect((await webhookClient.validateUrl('http://example.com/', true)).ok).toBe(false)
    expect((await webhookClient.validateUrl('http://example.com/', false)).ok).toBe(true)
    expect(await webhookClient.validateUrl('HTTPS://Example.COM:443/a/../b?c', true)).toEqual({
      ok: true,
      value: 'https://example.com/b?c',
    })
    await webhookClient[Symbol.asyncDispose]()
  })

  it('may have a host without an address yet, and is validated at each connection', async () => {
    const url = 'https://not-yet.example.com/'
    const webhookClient = openWebhookHttpClient({ allowedNetworks: [], resolve: nothing })
    expect(await webhookClient.validateUrl(url, true)).toEqual({ ok: true, value: url })
    await webhookClient[Symbol.asyncDispose]()
  })
})

describe('a POST', () => {
  const local = { allowedNetworks: ['127.0.0.0/8'] }

  it('does not follow a redirect', async () => {
    const { canary: four } = both()
    for (const status of [301, 302, 303, 307, 308]) {
      await using receiver = await openReceiver(() => ({
        status,
        headers: { location: `http://127.0.0.1:${four.port}/` },
      }))
      const webhookClient = openWebhookHttpClient(local)
      const sent = await webhookClient.post({ url: receiver.url, liveMode: false, headers: {}, body: '{}' })
      expect([sent.status, receiver.received.length]).toEqual([status, 1])
      await webhookClient[Symbol.asyncDispose]()
    }
    expect(four.connections).toBe(0)
  })

  it('uses no proxy of the environment', async () => {
    const { canary: four } = both()
    const names = [
      'http_proxy',
      'HTTP_PROXY',
      'https_proxy',
      'HTTPS_PROXY',
      'all_proxy',
      'ALL_PROXY',
      'NODE_USE_ENV_PROXY',
    ]
    const before = names.map(name => [name, process.env[name]] as const)
    for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${four.port}`
    try {
      await using receiver = await openReceiver()
      const webhookClient = openWebhookHttpClient(local)
      expect((await webhookClient.post({ url: receiver.url, liveMode: false, headers: {}, body: '{}' })).status).toBe(
        204,
      )
      await webhookClient[Symbol.asyncDispose]()
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    }
    expect(four.connections).toBe(0)
  })
})
