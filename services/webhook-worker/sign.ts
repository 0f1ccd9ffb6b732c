import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const prefix = 'whsec_'
const mostKeys = 1_000
const keys = new Map<string, KeyObject>()

/** The key of a secret; kept, because making one takes four times as long as signing with it. */
const keyOf = (secret: string): KeyObject => {
  const known = keys.get(secret)
  if (known !== undefined) return known
  if (keys.size >= mostKeys) keys.clear()
  const key = createSecretKey(secret.slice(prefix.length), 'base64')
  keys.set(secret, key)
  return key
}

/**
 * Write the signature header of a message: one `v1` signature for each secret, with blanks between them. `timestamp` in whole seconds.
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
export const signatureHeader = (secrets: readonly string[], id: string, timestamp: number, body: string): string => {
  const signed = `${id}.${timestamp}.${body}`
  return secrets.map(secret => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`).join(' ')
}
