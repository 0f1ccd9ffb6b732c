import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openWebhookHttpClient } from '../../../../services/platform/webhook-client/webhook-http-client.ts'
import { unknownCertificate } from '../../../support/webhooks/certificate.ts'
import { openReceiver } from '../../../support/webhooks/receiver.ts'

const local = { allowedNetworks: ['127.0.0.0/8'] }

describe('the answer to a webhook', () => {
  it('keeps at most 16 KiB of an answer, without NUL', async () => {
    await using receiver = await openReceiver(() => ({ status: 200, body: `\0${'ä'.repeat(1_000_000)}` }))
    const webhookClient = openWebhookHttpClient(local)
    const { status, body, isCut } = await webhookClient.post({
      url: receiver.url,
      liveMode: false,
      headers: {},
      body: '{}',
    })
    expect([status, body.slice(0, 3), body.includes('\0'), isCut]).toEqual([200, '\ufffdää', false, true])
    expect(body.length).toBeLessThanOrEqual(16_384 / 2 + 2)
    await webhookClient[Symbol.asyncDispose]()
  })

  it('times out if the answer, its body or its headers hang', async () => {
    const slow = createServer(socket => {
      socket.on('error', () => undefined)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')
      const timer = setInterval(() => socket.write('a'), 50)
      socket.on('close', () => clearInterval(timer))
    })
    await new Promise<void>(resolve => slow.listen(0, '127.0.0.1', resolve))
    await using receiver = await openReceiver(({ path }) =>
      path === '/long' ? { status: 200, headers: { a: 'b'.repeat(20_000) } } : 'hang',
    )
    const webhookClient = openWebhookHttpClient({ ...local, timeoutMs: 500 })
    const urls = [receiver.url, `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`]
    for (const url of urls) {
      const sent = await webhookClient.post({ url, liveMode: false, headers: {}, body: '{}' })
      expect(sent).toMatchObject({ status: null, error: 'timed_out' })
      expect(sent.durationMs).toBeLessThan(2_000)
    }
    expect(
      await webhookClient.post({ url: `${receiver.url}/long`, liveMode: false, headers: {}, body: '{}' }),
    ).toMatchObject({
      error: 'answer_invalid',
    })
    await webhookClient[Symbol.asyncDispose]()
    slow.close()
  })

  it('rejects an untrusted certificate', async () => {
    let requests = 0
    const server = createTlsServer(unknownCertificate, (_, response) => {
      requests += 1
      response.end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const webhookClient = openWebhookHttpClient(local)
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(await webhookClient.post({ url, liveMode: true, headers: {}, body: '{}' })).toMatchObject({
      status: null,
      error: 'tls_failed',
    })
    expect(requests).toBe(0)
    await webhookClient[Symbol.asyncDispose]()
    server.close()
  })
})
