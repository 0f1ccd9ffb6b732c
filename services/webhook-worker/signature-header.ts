import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const prefix = 'whsec_'
const maxKeys = 1_000
const keys = new Map<string, KeyObject>()

/** The key of a secret; kept, because making one takes four times as long as signing with it. */
const keyOf = (secret: string): KeyObject => {
  const known = keys.get(secret)
  if (known !== undefined) return known
  if (keys.size >= maxKeys) keys.clear()
  const key = createSecretKey(secret.slice(prefix.length), 'base64')
  keys.set(secret, key)
  return key
}

/** Bytes that are signed between two points where the work can be interrupted. */
const bytesAtOnce = 2 ** 20

/**
 * Write the signature header of a message, in steps: one `v1` signature for each secret, with blanks between them. `timestamp` in whole
 * seconds. Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
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
    for (let from = 0; from < body.length; from += bytesAtOnce) {
      hmac.update(body.subarray(from, from + bytesAtOnce))
      yield
    }
    signatures.push(`v1,${hmac.digest('base64')}`)
  }
  return signatures.join(' ')
}
