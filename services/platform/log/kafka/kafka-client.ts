import type { BaseOptions } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import type { KafkaAddress } from './kafka-settings.ts'

/** Time limit of a request. A hanging broker never answers; the retry goes to another broker. */
export const requestTimeoutMs = 5_000

/**
 * Minimum time between two sends to a partition and between two fetches from a broker. Each request costs broker and
 * client 0.5 ms of CPU, with 10 records as with 500.
 */
export const lingerMs = 30

/**
 * Options of every client. The client does not retry: its retries could move a commit of a lost reader after the
 * group's fencing.
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

/** Create the failure of a broker that does not answer or is temporarily unable to. */
export const logUnavailable = (what: string, cause?: unknown): Failure =>
  new Failure('log_away', what, { retriable: true, cause })

/** Wait for a promise, at most `limitMs`; null if it takes longer or fails. Its work continues. */
export const waitUpTo = async <T>(limitMs: number, promise: Promise<T>): Promise<T | null> => {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), limitMs)
  try {
    return await Promise.race([promise.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Return the message of the broker, which is the innermost error of the client's error. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const serverMessage: unknown = Reflect.get(error, 'serverErrorMessage')
  return typeof serverMessage === 'string' ? serverMessage : error.message
}

/**
 * Wait for a promise, at most `limitMs`. Throws `log_away` if it takes longer or the client fails. `what` names the
 * request.
 */
export const withLogTimeout = async <T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(logUnavailable(`Kafka: ${what} took longer than ${limitMs} ms.`)), limitMs)
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    throw error instanceof Failure ? error : logUnavailable(`Kafka: ${what} failed: ${reasonOf(error)}`, error)
  } finally {
    clearTimeout(timer)
  }
}
