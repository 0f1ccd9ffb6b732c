import { hkdfSync, randomBytes } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Secret, secretTexts } from './secrets.ts'

/** Validity of a bearer token in seconds. */
export const tokenLifetimeSeconds = 3_600

/** Subject of a bearer token: an account, a mode and a key. */
export type TokenSubject = { readonly accountId: string; readonly liveMode: boolean; readonly keyId: string }

/** Subject of a token, with the access generation of its account at the login; 0 if absent. */
export type TokenGrant = TokenSubject & { readonly accessGeneration?: number }

/** Claims of a verified token. `expiresAt` is in ms. */
export type TokenClaims = TokenSubject & { readonly accessGeneration: number; readonly expiresAt: number }

export type BearerTokens = {
  /** Sign a token that is valid for an hour from `at` (ms). */
  readonly sign: (subject: TokenGrant, at: number) => Promise<string>
  /**
   * Verify the signature and claims of a token at `at` (ms). The state of its key is not checked.
   * Refuses a token that neither the current nor a former secret signed (`bad_credentials`), and an expired token
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
  'Send Authorization: Bearer with an API key, or with the bearer_token of /login.',
)
const expiredToken = refused('token_expired', 'The bearer token has expired: log in again with GET /login.')

/**
 * Create the signer and verifier of bearer tokens. Processes with the same secret accept each other's tokens.
 * Source: docs/rules/authentication.md #bearer-tokens.
 */
export const bearerTokens = (secret: Secret): BearerTokens => {
  const [current, ...former] = secretTexts(secret)
  const keyFrom = (text: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', text, 'wattledger', 'bearer-token', 32))
  const key = keyFrom(current)
  const keys = [key, ...former.map(keyFrom)]
  return {
    sign: ({ accountId, liveMode, keyId, accessGeneration = 0 }, at) =>
      new SignJWT({ live_mode: liveMode, key_id: keyId, generation: accessGeneration })
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
    // Tokens of the version before have no generation. They belong to accounts that were not disabled since.
    const { sub, exp, live_mode: liveMode, key_id: keyId, generation: accessGeneration = 0 } = payload
    if (typeof accessGeneration !== 'number') return badToken
    if (sub === undefined || exp === undefined || typeof liveMode !== 'boolean' || typeof keyId !== 'string')
      return badToken
    return accepted({ accountId: sub, liveMode, keyId, accessGeneration, expiresAt: exp * 1_000 })
  } catch (error) {
    if (error instanceof errors.JWTExpired) return expiredToken
    if (error instanceof errors.JOSEError) return badToken
    throw error
  }
}

/**
 * Base64url has unused bits at the end, so that two texts can encode the same bytes.
 * Only the canonical text is accepted.
 */
const isCanonical = (token: string): boolean =>
  token.split('.').every(part => part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part)
