import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Layout, versionOf } from '../../contract/layout.ts'

const deflate = promisify(gzip)

/** Answers below this size are not worth compressing, in bytes. */
const worthCompressing = 1_024

/** An answer before it is written. */
export type Answer = {
  readonly status: number
  readonly layout: Layout
  readonly mediaType: string
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/** Tell whether a list like `gzip;q=0.5, *` takes a word; `q=0` does not. */
export const takes = (header: string | null, word: string): boolean => {
  for (const part of header?.split(',') ?? []) {
    const [name = '', ...parameters] = part.split(';').map(one => one.trim().toLowerCase())
    if (name !== word) continue
    const quality = parameters.find(one => one.startsWith('q='))
    return quality === undefined || Number(quality.slice(2)) > 0
  }
  return false
}

/** Write an answer: length known, compressed when asked for and worth it. */
export const toResponse = async (answer: Answer, requestId: string, acceptEncoding: string | null): Promise<Response> => {
  const headers: Record<string, string> = {
    'Content-Type': answer.mediaType,
    'X-Request-Id': requestId,
    'Api-Version': versionOf[answer.layout],
    'Cache-Control': 'no-store',
    // Nothing is to be taken for a script or a page that does not say it is one.
    'X-Content-Type-Options': 'nosniff',
    ...answer.headers,
  }
  const length = typeof answer.body === 'string' ? Buffer.byteLength(answer.body) : answer.body.length
  if (length < worthCompressing) return written(answer.body, length, answer.status, headers)
  headers['Vary'] = headers['Vary'] === undefined ? 'Accept-Encoding' : `${headers['Vary']}, Accept-Encoding`
  if (!takes(acceptEncoding, 'gzip')) return written(answer.body, length, answer.status, headers)
  const compressed = await deflate(answer.body, { level: 4 })
  headers['Content-Encoding'] = 'gzip'
  return written(compressed, compressed.length, answer.status, headers)
}

const written = (body: string | Uint8Array<ArrayBuffer>, length: number, status: number, headers: Record<string, string>): Response => {
  headers['Content-Length'] = String(length)
  return new Response(length === 0 ? null : body, { status, headers })
}
