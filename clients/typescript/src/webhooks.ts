import { createHmac, timingSafeEqual } from 'node:crypto'
import { WebhookVerificationError } from './errors.js'
import { parseExact } from './exact-json.js'

/** Delivery as your server received it. */
export type Delivery = {
  /** Secret of the endpoint, `whsec_…`. */
  readonly secret: string
  /** Headers of the request. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Raw body, as received. */
  readonly body: string | Uint8Array
  /** Present time in ms. Default: the clock of the machine. */
  readonly now?: number
}

const toleranceSeconds = 300

const minKeyBytes = 16

/** Return the key of a secret. A key that is empty or short lets everybody sign. */
const readKey = (secret: unknown): Buffer => {
  const text = typeof secret === 'string' ? secret.trim() : ''
  const key = Buffer.from(text.replace(/^whsec_/, ''), 'base64')
  if (key.length >= minKeyBytes) return key
  throw new WebhookVerificationError('The secret is missing or incomplete. Set the whsec_… secret of the endpoint.')
}

/** Read a header. The letter case of its name does not matter. */
const readHeader = (headers: Delivery['headers'], name: string): string => {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
  if (typeof value !== 'string') throw new WebhookVerificationError(`The header ${name} is missing.`)
  return value
}

const isEqual = (text: string, expected: Buffer): boolean => {
  const [version, value = ''] = text.split(',')
  const given = Buffer.from(value, 'base64')
  return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
}

/**
 * Check the signature and the time of a delivery, and return its event with exact decimals.
 * Throws a WebhookVerificationError. Source: docs/webhooks.md #receive-a-delivery.
 */
export const verifyDelivery = ({ secret, headers, body, now }: Delivery, integers: ReadonlySet<string>): unknown => {
  const key = readKey(secret)
  const id = readHeader(headers, 'webhook-id')
  const timestamp = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature').split(' ')
  const age = (now ?? Date.now()) / 1000 - Number(timestamp)
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(age) > toleranceSeconds)
    throw new WebhookVerificationError('The time of the delivery is more than five minutes away.')
  const bytes = Buffer.from(body)
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(bytes).digest()
  if (!signatures.some(text => isEqual(text, expected)))
    throw new WebhookVerificationError('The signature of the delivery is wrong. Check the secret and use the raw body.')
  return parseExact(bytes.toString('utf8'), integers)
}
