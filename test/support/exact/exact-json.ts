import { decimal, parseExactly } from '../ledger/exact-decimal.ts'
import type { Client } from '../system/client.ts'

/** Return a marked decimal that `exactBody` writes with all its digits, even if a double cannot represent it. */
export const exactNumber = (value: bigint, decimals: number): string => `exact:${decimal(value, decimals)}`

/** Write a JSON body with the exact digits of the marked numbers. */
export const exactBody = (value: unknown): string => JSON.stringify(value).replace(/"exact:(-?[\d.]+)"/g, '$1')

/** Send a request and return the answer with each number as text. Throws if the request fails. */
export const askExactly = async <T>(client: Client, method: string, path: string, body?: unknown): Promise<T> => {
  const { status, text } = await client.send(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
  return parseExactly(text) as T
}
