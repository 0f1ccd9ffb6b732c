import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, it } from 'vitest'
import { openScriptedService } from '../support/clients/scripted-service.ts'
import { buildTypescriptClient, type ClientModule, loadClient } from '../support/clients/typescript-client.ts'

let built: ClientModule
beforeAll(async () => {
  await buildTypescriptClient()
  built = await loadClient('current')
}, 420_000)

const options = { apiKey: 'sk_test_0', maxAttempts: 3 }

describe('a decimal', () => {
  it.each(['0', '-0.5', '1.10', '99999999999.123456', '1e-9', '12E+3'])('keeps its text: %s', text => {
    const value = built.decimal(text)
    expect([value.text, `${value}`, built.writeExact({ value })]).toEqual([text, text, `{"value":${text}}`])
  })

  it.each(['', '1.', '.5', '01', '0x1', 'NaN', '1e1000', ' 1', '1'.repeat(401)])('is refused: "%s"', text => {
    expect(() => built.decimal(text)).toThrow(RangeError)
  })

  it('refuses binary fractions, and has no value as a number', () => {
    expect(() => built.decimal(0.1)).toThrow(/decimal\('0.1'\)/)
    expect(() => built.writeExact({ value: 0.1 })).toThrow(/"value" is the binary fraction 0.1/)
    const value = built.decimal('0.1') as unknown as number
    expect(() => value * 2).toThrow(TypeError)
  })

  it.each([
    ['1.961', 9, 1_961_000_000n],
    ['-0.5', 1, -5n],
    ['12e3', 0, 12_000n],
    ['1.50', 1, 15n],
  ])('%s has exact units of 10^-%i', (text, digits, units) => {
    expect(built.toUnits(built.decimal(text), digits)).toBe(units)
    expect(built.toUnits(built.fromUnits(units, digits), digits)).toBe(units)
  })

  it('with more digits than its unit is refused', () => {
    expect(() => built.toUnits(built.decimal('0.25'), 1)).toThrow(RangeError)
    expect([built.fromUnits(-50n, 2).text, built.fromUnits(0n, 2).text, built.fromUnits(1200n, 2).text]).toEqual([
      '-0.5',
      '0',
      '12',
    ])
  })
})

describe('the client', () => {
  it('waits for Retry-After, and sends a POST again with its key', async () => {
    const refused = { status: 503, headers: { 'Retry-After': '1' }, body: { code: 'unavailable', message: 'Wait.' } }
    await using service = await openScriptedService([refused, 'reset', { status: 201, body: { id: 'cus_1' } }])
    const client = built.createClient({ ...options, baseUrl: service.url })
    const start = performance.now()
    expect(await client['customerCreate']?.({ body: {} })).toEqual({ id: 'cus_1' })
    expect(performance.now() - start).toBeGreaterThan(990)
    const keys = new Set(service.received.map(({ headers }) => headers['idempotency-key']))
    expect([service.received.length, keys.size]).toEqual([3, 1])
  })

  it('stops after the last attempt, and reports the error of the service', async () => {
    const refused = { status: 429, headers: { 'Retry-After': '0' }, body: { code: 'rate_limited', message: 'Slow.' } }
    await using service = await openScriptedService([refused, refused, refused, refused])
    const client = built.createClient({ ...options, baseUrl: service.url })
    const error = await client['accountRetrieve']?.({}).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(built.ApiError)
    expect(error).toMatchObject({ status: 429, code: 'rate_limited', message: 'Slow.', retryAfter: 0 })
    expect(service.received).toHaveLength(3)
  })

  it('does not wait longer than its limit', async () => {
    await using service = await openScriptedService([{ status: 503, headers: { 'Retry-After': '120' }, body: {} }])
    const client = built.createClient({ ...options, baseUrl: service.url })
    await expect(client['accountRetrieve']?.({})).rejects.toMatchObject({ retryAfter: 120 })
    expect(service.received).toHaveLength(1)
  })

  it.each(['', '<html>Bad gateway</html>', 'null', '[1]'])('repeats after an answer of a proxy: "%s"', async body => {
    const busy = { status: 503, headers: { 'Retry-After': '0' }, body }
    await using service = await openScriptedService([
      { status: 502, body },
      busy,
      { status: 200, body: { id: 'acc_1' } },
    ])
    const client = built.createClient({ ...options, baseUrl: service.url })
    expect(await client['accountRetrieve']?.({})).toEqual({ id: 'acc_1' })
    await using broken = await openScriptedService([{ status: 500, body }])
    const failed = built.createClient({ ...options, baseUrl: broken.url })['accountRetrieve']?.({})
    await expect(failed).rejects.toMatchObject({ name: 'ApiError', status: 500 })
  })

  it.each(['0.5', '-1', '1.5 ', '2026-01-01'])('reads no wait from the Retry-After "%s"', async text => {
    await using service = await openScriptedService([{ status: 503, headers: { 'Retry-After': text }, body: {} }])
    const client = built.createClient({ ...options, maxAttempts: 1, baseUrl: service.url })
    await expect(client['accountRetrieve']?.({})).rejects.toMatchObject({ status: 503, retryAfter: null })
  })

  it('reads a date from Retry-After', async () => {
    const headers = { 'Retry-After': 'Wed, 01 Jan 2020 00:00:00 GMT' }
    await using service = await openScriptedService([{ status: 503, headers, body: {} }])
    const client = built.createClient({ ...options, maxAttempts: 1, baseUrl: service.url })
    await expect(client['accountRetrieve']?.({})).rejects.toMatchObject({ retryAfter: 0 })
  })

  it.each([301, 302, 307])('reports a redirection %i, and follows none', async status => {
    const body = { id: 'acc_1' }
    await using service = await openScriptedService([
      { status, headers: { Location: '/other' }, body: '' },
      { status: 200, body },
    ])
    const client = built.createClient({ ...options, baseUrl: service.url })
    await expect(client['accountRetrieve']?.({})).rejects.toMatchObject({ name: 'ApiError', status })
    expect(service.received).toHaveLength(1)
  })

  it.each([{}, { accountId: 'acc_1' }])('names the address of a success that is not JSON: %j', async login => {
    const page = { status: 200, body: '<html>Welcome</html>' }
    await using service = await openScriptedService([page, page])
    const client = built.createClient({ ...options, ...login, baseUrl: service.url })
    const failed = client['customerList']?.({ query: { limit: 2 } }) as unknown as { page: () => Promise<unknown> }
    const path = 'accountId' in login ? '/login answered POST' : '/customers answered GET'
    const message = `${service.url}${path} with no JSON. Check the base URL.`
    await expect(failed.page()).rejects.toMatchObject({ name: 'WattledgerError', message })
    expect(service.received).toHaveLength(1)
  })

  it.each(['customerUpdate', 'customerDelete'])('sends no %s again after a lost answer', async name => {
    await using service = await openScriptedService(['reset', { status: 200, body: {} }])
    const client = built.createClient({ ...options, baseUrl: service.url })
    const lost = client[name]?.({ path: { id: 'cus_1' }, body: {} })
    await expect(lost).rejects.toBeInstanceOf(built.ConnectionError)
    expect(service.received).toHaveLength(1)
  })

  it('logs in once for concurrent requests, and again after its token is refused', async () => {
    const expired = { status: 401, body: { code: 'token_expired', message: 'The token has expired.' } }
    let tokens = 0
    let isExpired = false
    await using service = await openScriptedService(({ path, headers }) => {
      if (path === '/login') return { status: 200, body: { bearer_token: `token-${++tokens}`, expires_in: 3600 } }
      return isExpired && headers.authorization === 'Bearer token-1' ? expired : { status: 200, body: {} }
    })
    const client = built.createClient({ ...options, baseUrl: service.url, accountId: 'acc_1' })
    await Promise.all([1, 2, 3].map(() => client['accountRetrieve']?.({})))
    expect(tokens).toBe(1)
    isExpired = true
    await Promise.all([1, 2, 3].map(() => client['accountRetrieve']?.({})))
    expect(tokens).toBe(2)
  })

  it('ends with the signal of the caller', async () => {
    await using service = await openScriptedService([{ status: 503, headers: { 'Retry-After': '50' }, body: {} }])
    const client = built.createClient({ ...options, baseUrl: service.url })
    const controller = new AbortController()
    const request = client['accountRetrieve']?.({ signal: controller.signal })
    while (service.received.length === 0) await sleep(5)
    controller.abort()
    await expect(request).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('reads the pages of a list in order', async () => {
    const pages = [
      { has_more: true, data: [{ id: 'c' }, { id: 'b' }] },
      { has_more: false, data: [{ id: 'a' }] },
    ]
    await using service = await openScriptedService(pages.map(body => ({ status: 200, body })))
    const client = built.createClient({ ...options, baseUrl: service.url })
    const ids: string[] = []
    for await (const { id } of client.customerList({ query: { limit: 2 } })) ids.push(id)
    expect(ids).toEqual(['c', 'b', 'a'])
    expect(service.received.map(({ path }) => path)).toEqual([
      '/customers?limit=2',
      '/customers?limit=2&starting_after=b',
    ])
  })
})

describe('the settings', () => {
  it.each([undefined, '', 'energy.example.com', 'ftp://energy.example.com', 'http://', 'http://a b', 'sk_test_0'])(
    'with the base URL %s are refused',
    baseUrl => {
      const create = () => built.createClient({ ...options, baseUrl })
      expect(create).toThrow(built.WattledgerError)
      expect(create).toThrow('The base URL is wrong. Write http:// or https:// and a host: https://energy.example.com.')
    },
  )

  it.each([undefined, '', ' \n', 'sk_test_ö', 'sk_test\n_0', 'sk_test_0…'])('with the key %j are refused', apiKey => {
    const create = () => built.createClient({ apiKey, baseUrl: 'http://127.0.0.1' })
    expect(create).toThrow(built.WattledgerError)
    expect(create).toThrow(
      /^The API key is missing, or has characters that no key has. Set a key sk_live_… or sk_test_….$/,
    )
  })

  it('can have white space around the key and the base URL', async () => {
    await using service = await openScriptedService([{ status: 200, body: {} }])
    const client = built.createClient({ apiKey: ' sk_test_0\n', baseUrl: ` ${service.url}//\n` })
    await client['accountRetrieve']?.({})
    expect(service.received[0]).toMatchObject({ path: '/account', headers: { authorization: 'Bearer sk_test_0' } })
  })
})

describe('a webhook delivery', () => {
  const secret = `whsec_${Buffer.from('a secret of a webhook endpoint').toString('base64')}`
  const at = Date.UTC(2026, 0, 1)
  const body = '{"type":"price.update","data":{"value":0.12345678901234567}}'
  const signed = (text = body) => ({
    secret,
    body,
    now: at,
    headers: {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(at / 1000),
      'webhook-signature': `v1,AAAA ${new Webhook(secret).sign('evt_1', new Date(at), text)}`,
    },
  })

  it('of the service is accepted, with exact decimals', () => {
    const event = built.verifyWebhook({ ...signed(), headers: new Headers(signed().headers) })
    expect(built.writeExact(event)).toBe(body)
  })

  it('is accepted with names of headers in any letter case', () => {
    const { headers, ...rest } = signed()
    const upper = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])
    expect(built.writeExact(built.verifyWebhook({ ...rest, headers: Object.fromEntries(upper) }))).toBe(body)
  })

  it.each([undefined, null, '', 'whsec_', 'whsec_!!!!', `whsec_${Buffer.alloc(15).toString('base64')}`])(
    'is refused without a complete secret: %s',
    wrong => {
      const key = Buffer.from((wrong ?? '').slice('whsec_'.length), 'base64')
      const forged = createHmac('sha256', key)
        .update(`evt_1.${at / 1000}.${body}`)
        .digest('base64')
      const headers = { ...signed().headers, 'webhook-signature': `v1,${forged}` }
      const verify = () => built.verifyWebhook({ ...signed(), headers, secret: wrong })
      expect(verify).toThrow(built.WebhookVerificationError)
      expect(verify).toThrow('The secret is missing or incomplete. Set the whsec_… secret of the endpoint.')
    },
  )

  it.each([
    ['another body', { ...signed(), body: body.replace('2', '3') }],
    ['another secret', { ...signed(), secret: `whsec_${'A'.repeat(32)}` }],
    ['an old time', { ...signed(), now: at + 301_000 }],
    ['a missing header', { ...signed(), headers: {} }],
  ])('with %s is refused', (_, delivery) => {
    expect(() => built.verifyWebhook(delivery)).toThrow(built.WebhookVerificationError)
  })
})
