import type { Dispatcher } from 'undici'
import { isFailure } from '../failure.ts'

/** How much of an answer is kept, in bytes. Source: docs/rules/events-and-webhooks.md #attempts. */
export const storedAnswerBytes = 16_384

/** Why no answer came. */
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

/**
 * Text of bytes that may end inside a character; NUL, which no text column takes, shows as the character for the
 * unknown.
 */
const textOf = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\ufffd')

/**
 * Read an answer up to what is kept of it; a longer one is cut off with its connection.
 * Rejects where its body breaks off or takes too long.
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

/** Name what kept an answer from coming. */
export const attemptError = (error: unknown): AttemptError => {
  if (isFailure(error) && error.code === 'address_forbidden') return 'address_forbidden'
  if (!(error instanceof Error)) return 'connection_failed'
  if (error.name === 'TimeoutError') return 'timed_out'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (tlsCode.test(code)) return 'tls_failed'
  if (code.startsWith('HPE_')) return 'answer_invalid'
  return byCode[code] ?? 'connection_failed'
}
