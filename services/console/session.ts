import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiVersion } from '../contract/api-version.ts'
import type { Scope } from '../contract/operation.ts'
import type { TokenGrant } from '../platform/access/bearer-token.ts'
import type { Secret } from '../platform/access/secrets.ts'
import { hashSecret } from '../platform/ids/new-id.ts'
import type { Database } from '../platform/postgres/database.ts'
import { readKeyState } from '../platform/postgres/registry/api-keys.ts'
import {
  createConsoleSession,
  deleteConsoleSession,
  findConsoleSession,
} from '../platform/postgres/registry/console-sessions.ts'

/** Lifetime of a session in seconds. */
export const sessionSeconds = 43_200

/** User of a session. `liveMode` is the mode of the user itself, which may differ from the mode of the session. */
export type SessionUser = { readonly id: string; readonly address: string; readonly liveMode: boolean }

/** Account, mode, scope and key of a visitor who signed in. `user` is null after a sign-in with a key. */
export type ConsoleSession = TokenGrant & {
  readonly scope: Scope
  readonly defaultApiVersion: ApiVersion
  readonly user: SessionUser | null
}

export type SessionDependencies = { readonly database: Pick<Database, 'operator'>; readonly secret: Secret }

/**
 * Cookies of the session and of the sign-in form. With a link from another site the browser sends neither cookie,
 * so the sign-in page must not change the session cookie.
 */
const cookieNames = { session: 'wattledger_console', entry: 'wattledger_console_entry' } as const
type CookieKind = keyof typeof cookieNames
const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Create a cookie value with 256 random bits. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Read the token of a cookie; null if the cookie is missing or invalid. */
export const tokenOf = (request: Request, kind: CookieKind): string | null => {
  for (const part of request.headers.get('cookie')?.split(';') ?? []) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === cookieNames[kind] && tokenPattern.test(value)) return value
  }
  return null
}

/** Create a Set-Cookie header. `maxAgeSeconds` null: until the browser closes. */
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

const openIdName = 'wattledger_console_openid'

/**
 * Cookie of a sign-in at an OpenID provider. The redirect of the provider comes from another site, so the browser must
 * send the cookie with links. The value is sealed.
 */
export const openIdCookie = {
  read: (request: Request): string | null => {
    for (const part of request.headers.get('cookie')?.split(';') ?? []) {
      const [name, value = ''] = part.trim().split('=', 2)
      if (name === openIdName && /^[A-Za-z0-9_-]{1,4000}$/.test(value)) return value
    }
    return null
  },
  write: (value: string, isHttps: boolean, maxAgeSeconds: number): string =>
    [
      `${openIdName}=${value}`,
      ...['Path=/console/oidc', 'HttpOnly', 'SameSite=Lax', `Max-Age=${maxAgeSeconds}`],
      ...(isHttps ? ['Secure'] : []),
    ].join('; '),
} as const

const sessionHash = (secret: Secret, token: string): string => hashSecret(secret, `console session ${token}`)

/** Return the token of a visitor's forms, which other sites cannot know. */
export const formToken = (secret: Secret, token: string): string => hashSecret(secret, `console form ${token}`)

/** Return true if a form contains the token of its visitor. */
export const isOwnForm = (secret: Secret, token: string, formTokenGiven: string): boolean => {
  const [expected, actual] = [Buffer.from(formToken(secret, token)), Buffer.from(formTokenGiven)]
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/** Create a session and return its token. It ends with the key, with a change of the user, or after 12 hours. */
export const signIn = async (
  { database, secret }: SessionDependencies,
  subject: Required<TokenGrant> & { readonly userGeneration: number | null },
  at: number,
): Promise<string> => {
  const token = newToken()
  const session = { ...subject, createdAt: at, expiresAt: at + sessionSeconds * 1_000 }
  await createConsoleSession(database.operator, sessionHash(secret, token), session)
  return token
}

/**
 * Return the session of a token; null if it has expired, the key is revoked, the user was changed or removed, or the
 * account is disabled or was disabled since. If visitors may not sign in with keys, sessions of keys have ended too.
 */
export const sessionOf = async (
  { database, secret, allowsKeys }: SessionDependencies & { readonly allowsKeys: boolean },
  token: string,
  at: number,
): Promise<ConsoleSession | null> => {
  const session = await findConsoleSession(database.operator, sessionHash(secret, token), at)
  if (session === null || (session.userAddress === null && !allowsKeys)) return null
  const { accountId, liveMode, keyId, accessGeneration, userAddress, isUserLive } = session
  const state = await readKeyState(database.operator, session)
  if (state === null || state.isDisabled) return null
  const user = userAddress === null ? null : { id: keyId, address: userAddress, liveMode: isUserLive }
  const { scope, defaultApiVersion } = state
  return { accountId, liveMode, keyId, accessGeneration, scope, defaultApiVersion, user }
}

/** Move the session of a user to the other mode. Returns its new token; null if the session has ended. */
export const switchMode = async (
  { database, secret }: SessionDependencies,
  token: string,
  at: number,
): Promise<string | null> => {
  const session = await findConsoleSession(database.operator, sessionHash(secret, token), at)
  if (session === null || !session.isUserLive) return null
  const { accountId, keyId, userGeneration, accessGeneration, expiresAt } = session
  const next = newToken()
  const owner = { accountId, keyId, userGeneration, accessGeneration }
  const moved = { ...owner, liveMode: !session.liveMode, createdAt: at, expiresAt }
  await createConsoleSession(database.operator, sessionHash(secret, next), moved)
  await deleteConsoleSession(database.operator, sessionHash(secret, token))
  return next
}

/** Delete the session of a token. */
export const signOut = ({ database, secret }: SessionDependencies, token: string): Promise<void> =>
  deleteConsoleSession(database.operator, sessionHash(secret, token))
