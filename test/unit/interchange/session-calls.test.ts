import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sessionCalls } from '../../../services/interchange/console/session-calls.ts'
import { CallError } from '../../../services/platform/call-service.ts'

const subject = { accountId: 'acc_1', liveMode: false, keyId: 'key_1', accessGeneration: 1 }
const received: string[] = []
const gateway = createServer((request, response) => {
  received.push(`${request.method} ${request.url} ${request.headers.authorization}`)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"gateway"}')
})
let gatewayUrl = ''

beforeAll(async () => {
  await new Promise<void>(resolve => gateway.listen(0, '127.0.0.1', resolve))
  gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
})

afterAll(() => gateway.close())

const callsWith = (url: string | null) =>
  sessionCalls(
    {
      fetch: () => Response.json({ id: 'this process' }),
      sign: ({ accountId }) => Promise.resolve(`token of ${accountId}`),
      gatewayUrl: url,
    },
    subject,
  )

const idOf = async (url: string | null, method: string, path: string): Promise<unknown> =>
  (await callsWith(url).call<{ id: string }>(method, path, method === 'PUT' ? '' : undefined)).body?.id

it('sends submissions to the gateway with the token of the session, and asks this process for the rest', async () => {
  expect(await idOf(gatewayUrl, 'PUT', '/meters/interval')).toBe('gateway')
  expect(await idOf(gatewayUrl, 'GET', '/locations/loc_1')).toBe('this process')
  expect(received).toEqual(['PUT /meters/interval Bearer token of acc_1'])
})

it('sends submissions to this process if it is a gateway', async () => {
  expect(await idOf(null, 'PUT', '/meters/interval')).toBe('this process')
})

it('throws a call error, which the import repeats, for a gateway that does not answer', async () => {
  const call = callsWith('http://127.0.0.1:1').call('PUT', '/meters/interval', '')
  await expect(call).rejects.toBeInstanceOf(CallError)
})
