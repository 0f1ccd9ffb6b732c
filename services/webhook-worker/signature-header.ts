import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const prefix = 'whsec_'
const maxKeys = 1_000
const keys = new Map<string, KeyObject>()

/** Return the cached key of a secret: to create a key takes four times as long as to sign with it. */
const keyOf = (secret: string): KeyObject => {
  const known = keys.get(secret)
  if (known !== undefined) return known
  if (keys.size >= maxKeys) keys.clear()
  const key = createSecretKey(secret.slice(prefix.length), 'base64')
  keys.set(secret, key)
  return key
}

/** Bytes that are signed between two pauses. */
const bytesPerPause = 2 ** 20

/**
 * Return the signature header of a message: one `v1` signature for each secret, separated by spaces. `timestamp` is in
 * whole seconds.
 * Yields so that other work can run.
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
export function* signatureHeader(
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: Uint8Array,
): Generator<void, string> {
  const signatures: string[] = []
  for (const secret of secrets) {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`)
    for (let from = 0; from < body.length; from += bytesPerPause) {
      hmac.update(body.subarray(from, from + bytesPerPause))
      yield
    }
    signatures.push(`v1,${hmac.digest('base64')}`)
  }
  return signatures.join(' ')
}
