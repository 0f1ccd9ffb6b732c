import { decimal, parseExactly } from '../ledger/exact-decimal.ts'
import type { Client } from '../system/client.ts'

/** A number of JSON written out with all its digits, which a double might not carry. */
export const exactNumber = (value: bigint, places: number): string => `exact:${decimal(value, places)}`

/** Write a body of JSON whose exact numbers stand there as they are. */
export const exactBody = (value: unknown): string => JSON.stringify(value).replace(/"exact:(-?[\d.]+)"/g, '$1')

/** Ask, and read the answer with every number as the text that stands there. Throws for anything but success. */
export const askExactly = async <T>(client: Client, method: string, path: string, body?: unknown): Promise<T> => {
  const { status, text } = await client.send(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path} gave ${status}: ${text}`)
  return parseExactly(text) as T
}
