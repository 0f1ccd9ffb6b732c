import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { KeyScope } from '../../contract/operation.ts'
import type { TokenSubject } from '../../platform/bearer-token.ts'
import { hashSecret } from '../../platform/mint.ts'
import { readKeyState } from '../../platform/postgres/api-keys.ts'
import { createSession, deleteSession, findSession } from '../../platform/postgres/console-sessions.ts'
import type { Database } from '../../platform/postgres/database.ts'
import type { Secret } from '../../platform/secrets.ts'

/** How long somebody stays signed in, in seconds. */
export const sessionSeconds = 43_200

/** Who is signed in, and what the key may do. */
export type SignedIn = TokenSubject & { readonly scope: KeyScope }

export type SessionMeans = { readonly database: Pick<Database, 'operator'>; readonly secret: Secret }

/**
 * Two cookies: that of who is signed in, and that which ties the way in to its visitor. A browser that follows a link from elsewhere sends
 * neither, so showing the way in must leave the first one as it is.
 */
const cookieNames = { session: 'wattledger_console', entry: 'wattledger_console_entry' } as const
type CookieKind = keyof typeof cookieNames
const tokenForm = /^[A-Za-z0-9_-]{43}$/

/** Make what a visitor's cookie holds: 256 bits of chance. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Read the token of a cookie; null where there is none of ours. */
export const tokenOf = (request: Request, kind: CookieKind): string | null => {
  for (const part of request.headers.get('cookie')?.split(';') ?? []) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === cookieNames[kind] && tokenForm.test(value)) return value
  }
  return null
}

/** Write a cookie; `seconds` null: until the browser closes. Over https the browser sends it over https only. */
export const cookieFor = (
  kind: CookieKind,
  token: string,
  { secure, seconds }: { readonly secure: boolean; readonly seconds: number | null },
): string =>
  [
    `${cookieNames[kind]}=${token}`,
    'Path=/console',
    'HttpOnly',
    'SameSite=Strict',
    ...(secure ? ['Secure'] : []),
    ...(seconds === null ? [] : [`Max-Age=${seconds}`]),
  ].join('; ')

const sessionHash = (secret: Secret, token: string): string => hashSecret(secret, `console session ${token}`)

/** What every form of a visitor carries, so that no other site can send one. */
export const formToken = (secret: Secret, token: string): string => hashSecret(secret, `console form ${token}`)

/** Tell whether a form carries the token of its visitor. */
export const isOwnForm = (secret: Secret, token: string, given: string): boolean => {
  const [expected, actual] = [Buffer.from(formToken(secret, token)), Buffer.from(given)]
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/** Sign a subject in under a new token, which ends with its key or after twelve hours. */
export const signIn = async ({ database, secret }: SessionMeans, subject: TokenSubject, at: number): Promise<string> => {
  const token = newToken()
  const session = { ...subject, createdAt: at, expiresAt: at + sessionSeconds * 1_000 }
  await createSession(database.operator, sessionHash(secret, token), session)
  return token
}

/** Find who is signed in with a token; null for nobody, or where the key was revoked or its account disabled since. */
export const whoIs = async ({ database, secret }: SessionMeans, token: string, at: number): Promise<SignedIn | null> => {
  const session = await findSession(database.operator, sessionHash(secret, token), at)
  if (session === null) return null
  const { accountId, liveMode, keyId } = session
  const state = await readKeyState(database.operator, session)
  return state === null || state.disabled ? null : { accountId, liveMode, keyId, scope: state.scope }
}

/** Sign out: the token is worth nothing from now on. */
export const signOut = ({ database, secret }: SessionMeans, token: string): Promise<void> =>
  deleteSession(database.operator, sessionHash(secret, token))
