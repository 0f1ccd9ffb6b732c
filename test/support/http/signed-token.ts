import { createHmac } from 'node:crypto'

/** Write a part of a token: base64url of JSON, or of a text as it is. */
export const encoded = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Sign a token of any header and payload with any key. */
export const signed = (header: object, payload: object, key: string | Uint8Array): string => {
  const text = `${encoded(header)}.${encoded(payload)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
