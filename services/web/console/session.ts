import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiKeyScope } from '../../contract/operation.ts'
import type { TokenSubject } from '../../platform/access/bearer-token.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { hashSecret } from '../../platform/ids/new-id.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { readKeyState } from '../../platform/postgres/registry/api-keys.ts'
import {
  createConsoleSession,
  deleteConsoleSession,
  findConsoleSession,
} from '../../platform/postgres/registry/console-sessions.ts'

/** How long somebody stays signed in, in seconds. */
export const sessionSeconds = 43_200

/** Who is signed in, and what the key may do. */
export type ConsoleSession = TokenSubject & { readonly scope: ApiKeyScope }

export type SessionDependencies = { readonly database: Pick<Database, 'operator'>; readonly secret: Secret }

/**
 * Two cookies: that of who is signed in, and that which ties the way in to its visitor. A browser that follows a link from elsewhere sends
 * neither, so showing the way in must leave the first one as it is.
 */
const cookieNames = { session: 'wattledger_console', entry: 'wattledger_console_entry' } as const
type CookieKind = keyof typeof cookieNames
const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Make what a visitor's cookie holds: 256 bits of chance. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Read the token of a cookie; null where there is none of ours. */
export const tokenOf = (request: Request, kind: CookieKind): string | null => {
  for (const part of request.headers.get('cookie')?.split(';') ?? []) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === cookieNames[kind] && tokenPattern.test(value)) return value
  }
  return null
}

/** Write a cookie; `seconds` null: until the browser closes. Over https the browser sends it over https only. */
export const cookieFor = (
  kind: CookieKind,
  token: string,
  { isHttps, maxAgeSeconds }: { readonly isHttps: boolean; readonly maxAgeSeconds: number | null },
): string =>
  [
    `${cookieNames[kind]}=${token}`,
    'Path=/console',
    'HttpOnly',
    'SameSite=Strict',
    ...(isHttps ? ['Secure'] : []),
    ...(maxAgeSeconds === null ? [] : [`Max-Age=${maxAgeSeconds}`]),
  ].join('; ')

const sessionHash = (secret: Secret, token: string): string => hashSecret(secret, `console session ${token}`)

/** What every form of a visitor carries, so that no other site can send one. */
export const formToken = (secret: Secret, token: string): string => hashSecret(secret, `console form ${token}`)

/** Tell whether a form carries the token of its visitor. */
export const isOwnForm = (secret: Secret, token: string, formTokenGiven: string): boolean => {
  const [expected, actual] = [Buffer.from(formToken(secret, token)), Buffer.from(formTokenGiven)]
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/** Sign a subject in under a new token, which ends with its key or after twelve hours. */
export const signIn = async (
  { database, secret }: SessionDependencies,
  subject: TokenSubject,
  at: number,
): Promise<string> => {
  const token = newToken()
  const session = { ...subject, createdAt: at, expiresAt: at + sessionSeconds * 1_000 }
  await createConsoleSession(database.operator, sessionHash(secret, token), session)
  return token
}

/** Find who is signed in with a token; null for nobody, or where the key was revoked or its account disabled since. */
export const sessionOf = async (
  { database, secret }: SessionDependencies,
  token: string,
  at: number,
): Promise<ConsoleSession | null> => {
  const session = await findConsoleSession(database.operator, sessionHash(secret, token), at)
  if (session === null) return null
  const { accountId, liveMode, keyId } = session
  const state = await readKeyState(database.operator, session)
  return state === null || state.isDisabled ? null : { accountId, liveMode, keyId, scope: state.scope }
}

/** Sign out: the token is worth nothing from now on. */
export const signOut = ({ database, secret }: SessionDependencies, token: string): Promise<void> =>
  deleteConsoleSession(database.operator, sessionHash(secret, token))
