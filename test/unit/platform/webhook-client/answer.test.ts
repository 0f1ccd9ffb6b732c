import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openWebhookHttpClient } from '../../../../services/platform/webhook-client/webhook-http-client.ts'
import { openReceiver } from '../../../support/webhooks/receiver.ts'

/** Key and self-signed certificate for 127.0.0.1, for tests only. No client trusts the certificate. */
const unknownCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgOLKlqK9p+wmKSNVx
8hrd6Y79YsxNVEebnaH1s81he9+hRANCAATw32FMN5Mi3ZMb9IFrmUuNZF4bxvAo
Ldr7080I+nJ70YBlB/jfdksogFm990YXEPvBq3sFaItN8V1gaFqV/GZM
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUYnhdlj2anEg+4B/IFBpeLLqOZr0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTA3MDkzN1oYDzIxMjYxMDI4
MDcwOTM3WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATw32FMN5Mi3ZMb9IFrmUuNZF4bxvAoLdr7080I+nJ70YBlB/jfdkso
gFm990YXEPvBq3sFaItN8V1gaFqV/GZMo2QwYjAdBgNVHQ4EFgQUHlpMFuFaXamj
4anWzBoD4i4JJ88wHwYDVR0jBBgwFoAUHlpMFuFaXamj4anWzBoD4i4JJ88wDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQC2FzyS2ho4xwOk5pJC25V1Bxm8wxT5Of0zoaJnwQy7QAIhAIfO1IwRLAw8Hb/4
F4vh+tw7aj1WQqLMgy44ZJ1EL4xu
-----END CERTIFICATE-----
`,
}

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
