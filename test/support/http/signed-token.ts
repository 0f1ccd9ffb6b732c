import { createHmac } from 'node:crypto'

/** Return a part of a token: base64url of JSON, or of a text without change. */
export const encoded = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Create a signed token with any header, payload and key. */
export const signed = (header: object, payload: object, key: string | Uint8Array): string => {
  const text = `${encoded(header)}.${encoded(payload)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
