import type { BaseOptions } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import type { SaslMechanism } from './sasl-mechanism.ts'

/**
 * Where the brokers are and how to be let in. `tls` true takes the machine's authorities, `ca` is PEM text. `sessionMs`: how long they wait
 * for a silent reader before they give its lanes away (their `group.consumer.session.timeout.ms`).
 */
export type KafkaAddress = {
  readonly brokers: readonly string[]
  readonly tls: boolean | { readonly ca: string }
  readonly sasl: { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string } | null
  readonly sessionTimeoutMs: number
}

/** How long one request may take; a broker that hangs answers nothing, and the next try goes elsewhere. */
export const requestTimeoutMs = 5_000

/**
 * A produce or a fetch costs broker and client half a millisecond of CPU, whether it carries ten records or five hundred: each partition's
 * produces, and the fetches from each broker, begin so far apart where they need not be full.
 */
export const lingerMs = 30

/**
 * Options of every client. Tries are limited here and not by the client, whose own repeats would move a commit of a lost reader behind
 * the fence of the group.
 */
export const clientOptions = ({ brokers, tls, sasl }: KafkaAddress, name: string): BaseOptions => ({
  clientId: `wattledger-${name}`,
  bootstrapBrokers: [...brokers],
  retries: 0,
  requestTimeout: requestTimeoutMs,
  connectTimeout: 3_000,
  metadataMaxAge: 30_000,
  autocreateTopics: false,
  ...(tls === false ? {} : { tls: tls === true ? {} : { ca: tls.ca } }),
  ...(sasl === null ? {} : { sasl }),
})

/** The broker did not answer, or answered that it cannot now. */
export const logUnavailable = (what: string, cause?: unknown): Failure =>
  new Failure('log_away', what, { retriable: true, cause })

/** Wait for a promise no longer than a limit; `null` where it takes longer or fails. What it does goes on. */
export const waitUpTo = async <T>(limitMs: number, promise: Promise<T>): Promise<T | null> => {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), limitMs)
  try {
    return await Promise.race([promise.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What the brokers said: it stands innermost in the client's errors. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const serverMessage: unknown = Reflect.get(error, 'serverErrorMessage')
  return typeof serverMessage === 'string' ? serverMessage : error.message
}

/** Wait for a promise no longer than a limit; throws `log_away` then, and where the client fails. */
export const withLogTimeout = async <T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(logUnavailable(`${what} took longer than ${limitMs} ms`)), limitMs)
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    throw error instanceof Failure ? error : logUnavailable(`${what} failed: ${reasonOf(error)}`, error)
  } finally {
    clearTimeout(timer)
  }
}
