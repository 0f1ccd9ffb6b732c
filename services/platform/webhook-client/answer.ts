import type { Dispatcher } from 'undici'
import { isFailure } from '../failure.ts'

/** Max stored bytes of an answer. Source: docs/rules/events-and-webhooks.md #attempts. */
export const storedAnswerBytes = 16_384

/** Reasons why an attempt has no answer. */
export const attemptErrors = [
  'address_forbidden',
  'host_unknown',
  'connection_failed',
  'tls_failed',
  'timed_out',
  'answer_invalid',
  'event_expired',
] as const

export type AttemptError = (typeof attemptErrors)[number]

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>

/** Decode UTF-8 that may end inside a character. NUL becomes U+FFFD, because PostgreSQL text cannot contain NUL. */
const textOf = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\ufffd')

/**
 * Read an answer up to 16 KiB. The connection of a longer answer is closed.
 * Rejects if the body breaks off or exceeds the timeout.
 */
export const readAnswer = async ({ statusCode, headers, body }: Answer) => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > storedAnswerBytes) break
  }
  const retryAfter = headers['retry-after']
  return {
    status: statusCode,
    error: null,
    retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
    isCut: size > storedAnswerBytes,
    body: textOf(Buffer.concat(chunks).subarray(0, storedAnswerBytes)),
  }
}

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_EXCEEDED|EPROTO$)/

const byCode: Readonly<Record<string, AttemptError>> = {
  ENOTFOUND: 'host_unknown',
  ENODATA: 'host_unknown',
  ESERVFAIL: 'host_unknown',
  EREFUSED: 'host_unknown',
  ETIMEOUT: 'host_unknown',
  ETIMEDOUT: 'timed_out',
  UND_ERR_CONNECT_TIMEOUT: 'timed_out',
  UND_ERR_HEADERS_TIMEOUT: 'timed_out',
  UND_ERR_BODY_TIMEOUT: 'timed_out',
  UND_ERR_HEADERS_OVERFLOW: 'answer_invalid',
}

/** Return the reason of a failed attempt. */
export const attemptError = (error: unknown): AttemptError => {
  if (isFailure(error) && error.code === 'address_forbidden') return 'address_forbidden'
  if (!(error instanceof Error)) return 'connection_failed'
  if (error.name === 'TimeoutError') return 'timed_out'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (tlsCode.test(code)) return 'tls_failed'
  if (code.startsWith('HPE_')) return 'answer_invalid'
  return byCode[code] ?? 'connection_failed'
}
