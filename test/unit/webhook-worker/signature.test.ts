import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { rotateSecret, rotationWindowMs } from '../../../services/domain/webhook/secret-rotation.ts'
import type { DeliveryClaim } from '../../../services/platform/postgres/webhooks/webhook-queue.ts'
import { newWebhookSecret, webhookSeal } from '../../../services/platform/postgres/webhooks/webhook-secret.ts'
import { openWorkThread } from '../../../services/platform/work-thread/work-thread.ts'
import { signedPost } from '../../../services/webhook-worker/attempt.ts'
import { eventBody, eventThreadOptions, writeEventBody } from '../../../services/webhook-worker/event-body.ts'

const { seal, open } = webhookSeal('a secret of at least thirty-two characters')
const endpointId = `whe_${'0'.repeat(24)}`
const [first, second] = [newWebhookSecret(), newWebhookSecret()]
const createdAt = 1_757_840_000_000

const claimOf = (secrets: DeliveryClaim['secrets'], data = '{"id":"cus_1"}'): DeliveryClaim => ({
  accountId: 'acc_1',
  liveMode: false,
  id: 'whd_1',
  endpointId,
  eventId: 'evt_0198c0ffee00112233445566',
  eventType: 'customer.create',
  bytes: 0,
  round: 1,
  attempts: 0,
  data,
  eventCreatedAt: createdAt,
  url: 'https://example.com/',
  apiVersion: 'current',
  secrets,
  failingSince: null,
  isClosed: false,
})

const eventOf = ({ eventId, accountId, liveMode, eventType, apiVersion }: DeliveryClaim, data: string) => ({
  eventId,
  accountId,
  liveMode,
  eventType,
  apiVersion,
  data,
  createdAt,
})

const sent = (secrets: DeliveryClaim['secrets'], data?: string, at = Date.now()) => {
  const claim = claimOf(secrets, data)
  const { headers, body } = signedPost(claim, eventBody(eventOf(claim, claim.data ?? '')), { seal: { open } }, at)
  return { body: body.toString(), headers: headers as Record<string, string> }
}

const one = [{ secret: seal(first, endpointId), until: null }]
// No object of a request has this member.
const member = fc.string().filter(name => name !== '__proto__')
const isVerified = (secret: string, body: string, headers: Record<string, string>): boolean => {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

describe('what is sent', () => {
  it('has the same form for all lengths of data, and its numbers keep their digits', () => {
    const piece = (at: number) => `{"cost":${at}.1234567890123456789,"text":"\\"data\\":{} €","none":null}`
    const dataOf = (pieces: number) =>
      `{"object":"schedule_amount","data":[${Array.from({ length: pieces }, (_, at) => piece(at)).join(',')}]}`
    const [claim, long] = [claimOf(one), dataOf(4_000)]
    const body = eventBody(eventOf(claim, long)).toString()
    expect(body).toBe(
      eventBody(eventOf(claim, dataOf(1)))
        .toString()
        .replace(dataOf(1), () => long),
    )
    expect(JSON.parse(body).data).toEqual(JSON.parse(long))
  })

  it.each(['current', 'earlier'] as const)('has every character of long data in the %s version', async apiVersion => {
    await using thread = openWorkThread(eventThreadOptions)
    const text = `x${'😀'.repeat(600_000)}`
    const list = Array.from({ length: 5_000 }, (_, at) => ({ at, text: 'a list' }))
    const data = JSON.stringify({ object: 'customer', text, list })
    const claim = { ...claimOf(one, data), apiVersion }
    const body = await writeEventBody(eventOf(claim, data), thread)
    expect(JSON.parse(body.toString()).data).toEqual(JSON.parse(data))
    expect(body.equals(eventBody(eventOf(claim, data)))).toBe(true)
    const { headers } = signedPost(claim, body, { seal: { open } }, Date.now())
    expect(isVerified(first, body.toString(), headers as Record<string, string>)).toBe(true)
  })

  it('is accepted by the public verifier, for any event', () => {
    fc.assert(
      fc.property(fc.dictionary(member, fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer())), data => {
        const { body, headers } = sent(one, JSON.stringify(data))
        const event = new Webhook(first).verify(body, headers) as { readonly data: unknown }
        expect(JSON.stringify(event.data)).toBe(JSON.stringify(JSON.parse(JSON.stringify(data))))
      }),
    )
  })

  it('is refused by it once any part is altered', () => {
    const { body, headers } = sent(one)
    const signature = headers['webhook-signature'] ?? ''
    const timestamp = Number(headers['webhook-timestamp'])
    expect(isVerified(first, body, headers)).toBe(true)
    const altered: Readonly<Record<string, readonly [string, string, Record<string, string>]>> = {
      'another byte of the body': [first, body.replace('cus_1', 'cus_2'), headers],
      'a blank after the body': [first, `${body} `, headers],
      'another id': [first, body, { ...headers, 'webhook-id': 'evt_0198c0ffee00112233445567' }],
      'another time': [first, body, { ...headers, 'webhook-timestamp': String(timestamp + 1) }],
      'another signature': [
        first,
        body,
        { ...headers, 'webhook-signature': `v1,${signature.slice(3).replace(/^./, c => (c === 'A' ? 'B' : 'A'))}` },
      ],
      'another version': [first, body, { ...headers, 'webhook-signature': signature.replace('v1,', 'v2,') }],
      'no signature': [first, body, { ...headers, 'webhook-signature': '' }],
      'another secret': [second, body, headers],
    }
    for (const [name, [secret, text, changed]] of Object.entries(altered))
      expect([name, isVerified(secret, text, changed)]).toEqual([name, false])
    const late = sent(one, undefined, Date.now() - 6 * 60_000)
    expect(isVerified(first, late.body, late.headers)).toBe(false)
  })

  it('is signed with the old and the new secret for 24 h after a rotation, then with the new one alone', () => {
    const now = Date.now()
    const fresh = seal(second, endpointId)
    const both = sent(rotateSecret(one, fresh, now - rotationWindowMs + 5_000))
    expect([isVerified(first, both.body, both.headers), isVerified(second, both.body, both.headers)]).toEqual([
      true,
      true,
    ])
    const alone = sent(rotateSecret(one, fresh, now - rotationWindowMs - 5_000))
    expect([isVerified(first, alone.body, alone.headers), isVerified(second, alone.body, alone.headers)]).toEqual([
      false,
      true,
    ])
  })
})

describe('a sealed secret', () => {
  it('is opened by its installation and its owner alone', () => {
    const sealed = seal(first, endpointId)
    expect(sealed).not.toContain(first.slice(6))
    expect(seal(first, endpointId)).not.toBe(sealed)
    expect(open(sealed, endpointId)).toBe(first)
    expect(() => open(sealed, `whe_${'1'.repeat(24)}`)).toThrow()
    expect(() => webhookSeal('another secret of thirty-two characters').open(sealed, endpointId)).toThrow()
    const bytes = Buffer.from(sealed, 'base64')
    for (let index = 0; index < bytes.length; index += 1) {
      const broken = Buffer.from(bytes)
      broken[index] = (broken[index] ?? 0) ^ 1
      expect(() => open(broken.toString('base64'), endpointId)).toThrow()
    }
  })
})
