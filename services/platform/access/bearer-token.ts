import { hkdfSync, randomBytes } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Secret, secretTexts } from './secrets.ts'

/** Seconds for which a bearer token holds. */
export const tokenLifetimeSeconds = 3_600

/** For whom a bearer token speaks: one account in one mode, by one key. */
export type TokenSubject = { readonly accountId: string; readonly liveMode: boolean; readonly keyId: string }

/** What a verified token says; `expiresAt` in ms. */
export type TokenClaims = TokenSubject & { readonly expiresAt: number }

export type BearerTokens = {
  /** Sign a token that holds for an hour from `at` (ms). */
  readonly sign: (subject: TokenSubject, at: number) => Promise<string>
  /**
   * Check a token's signature and claims at `at` (ms), without asking whether its key still lives.
   * Refuses what this secret, present or former, did not sign (`bad_credentials`) and what is past its hour
   * (`token_expired`).
   */
  readonly verify: (token: string, at: number) => Promise<Result<TokenClaims>>
}

const issuer = 'wattledger'
const audience = 'wattledger-api'
const algorithm = 'HS256'
const type = 'at+jwt'
const maxTokenLength = 2_048

const badToken = refused(
  'bad_credentials',
  'Log in with GET /login and send its bearer_token as "Authorization: Bearer <bearer_token>".',
)
const expiredToken = refused('token_expired', 'The bearer token has expired: log in again with GET /login.')

/**
 * Make the signer and verifier of bearer tokens; processes with the same secret take each other's tokens.
 * Source: docs/rules/authentication.md #bearer-tokens.
 */
export const bearerTokens = (secret: Secret): BearerTokens => {
  const [present, ...former] = secretTexts(secret)
  const keyFrom = (text: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', text, 'wattledger', 'bearer-token', 32))
  const key = keyFrom(present)
  const keys = [key, ...former.map(keyFrom)]
  return {
    sign: ({ accountId, liveMode, keyId }, at) =>
      new SignJWT({ live_mode: liveMode, key_id: keyId })
        .setProtectedHeader({ alg: algorithm, typ: type })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(accountId)
        .setJti(randomBytes(12).toString('hex'))
        .setIssuedAt(Math.floor(at / 1_000))
        .setExpirationTime(Math.floor(at / 1_000) + tokenLifetimeSeconds)
        .sign(key),
    verify: async (token, at) => {
      let verified: Result<TokenClaims> = badToken
      for (const one of keys) {
        verified = await verify(token, one, at)
        if (verified.ok || verified.refusal.code !== badToken.refusal.code) break
      }
      return verified
    },
  }
}

async function verify(token: string, key: Uint8Array, at: number): Promise<Result<TokenClaims>> {
  if (token.length > maxTokenLength || !isCanonical(token)) return badToken
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      typ: type,
      issuer,
      audience,
      currentDate: new Date(at),
      requiredClaims: ['sub', 'jti', 'exp', 'live_mode', 'key_id'],
    })
    const { sub, exp, live_mode: liveMode, key_id: keyId } = payload
    if (sub === undefined || exp === undefined || typeof liveMode !== 'boolean' || typeof keyId !== 'string')
      return badToken
    return accepted({ accountId: sub, liveMode, keyId, expiresAt: exp * 1_000 })
  } catch (error) {
    if (error instanceof errors.JWTExpired) return expiredToken
    if (error instanceof errors.JOSEError) return badToken
    throw error
  }
}

/**
 * Base64url has spare bits at the end, so that two texts can hold the same bytes; only one of them is the token that
 * was signed.
 */
const isCanonical = (token: string): boolean =>
  token.split('.').every(part => part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part)
