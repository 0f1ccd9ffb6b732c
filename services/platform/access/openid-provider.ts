import * as openId from 'openid-client'
import { providerTextProblem } from '../../domain/user/user.ts'
import { Failure } from '../failure.ts'

/** Settings of an OpenID provider. `redirectUri` is the exact address of the callback. */
export type OpenIdSettings = {
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
}

/** Secrets of one sign-in, which only the browser that began it has. */
export type OpenIdRequest = { readonly state: string; readonly nonce: string; readonly codeVerifier: string }

/** Person at the provider. Only the pair identifies a person; addresses can change their owner. */
export type OpenIdIdentity = { readonly issuer: string; readonly subject: string }

/** Login that the provider proved but that cannot be stored. `problem` is a sentence without a full stop. */
export type UnusableIdentity = { readonly problem: string }

export type OpenIdProvider = {
  readonly name: string
  /** Create a request and the address of the provider for it. Throws `Failure` `provider_away`. */
  readonly begin: () => Promise<{ readonly address: string; readonly request: OpenIdRequest }>
  /**
   * Exchange the code of a callback with the query `search`. Returns null if the provider or a check refuses it.
   * Throws `Failure` `provider_away`.
   */
  readonly complete: (search: string, request: OpenIdRequest) => Promise<OpenIdIdentity | UnusableIdentity | null>
}

const timeoutSeconds = 5
const discoveryLifetimeMs = 3_600_000

const away = (cause: unknown): Failure =>
  new Failure('provider_away', 'The OpenID provider does not answer.', { retriable: true, cause })

const identityOf = ({ iss, sub }: Pick<openId.IDToken, 'iss' | 'sub'>): OpenIdIdentity | UnusableIdentity => {
  for (const [name, text] of [
    ['issuer', iss],
    ['subject', sub],
  ] as const) {
    const problem = providerTextProblem(text)
    if (problem !== null) return { problem: `its ${name} ${problem}` }
  }
  return { issuer: iss, subject: sub }
}

/** Errors of a provider that answered: its refusal, or an answer that a check refuses. */
const isRefusal = (error: unknown): boolean =>
  error instanceof openId.AuthorizationResponseError ||
  error instanceof openId.ResponseBodyError ||
  error instanceof openId.WWWAuthenticateChallengeError ||
  (error instanceof openId.ClientError && error.code !== 'OAUTH_TIMEOUT')

/**
 * Create the client of an OpenID provider: authorization code with PKCE, state and nonce. Metadata and keys come from
 * the configured issuer only. The signature of the ID token is verified. `elapsed` returns ms since any instant.
 * Source: docs/rules/users.md #openid-connect.
 */
export const openIdProvider = (settings: OpenIdSettings, elapsed: () => number): OpenIdProvider => {
  const { name, issuer, clientId, clientSecret, redirectUri } = settings
  let known: { readonly configuration: openId.Configuration; readonly at: number } | null = null
  const discover = async (): Promise<openId.Configuration> => {
    if (known !== null && elapsed() - known.at < discoveryLifetimeMs) return known.configuration
    const server = new URL(issuer)
    const insecure = server.protocol === 'http:' ? [openId.allowInsecureRequests] : []
    const authentication = openId.ClientSecretBasic(clientSecret)
    try {
      const configuration = await openId.discovery(server, clientId, {}, authentication, {
        execute: [...insecure, openId.enableNonRepudiationChecks],
        timeout: timeoutSeconds,
      })
      known = { configuration, at: elapsed() }
      return configuration
    } catch (error) {
      throw away(error)
    }
  }
  return {
    name,
    begin: async () => {
      const configuration = await discover()
      const request = {
        state: openId.randomState(),
        nonce: openId.randomNonce(),
        codeVerifier: openId.randomPKCECodeVerifier(),
      }
      const address = openId.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid',
        state: request.state,
        nonce: request.nonce,
        code_challenge: await openId.calculatePKCECodeChallenge(request.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { address: address.href, request }
    },
    complete: async (search, { state, nonce, codeVerifier }) => {
      const configuration = await discover()
      try {
        const tokens = await openId.authorizationCodeGrant(configuration, new URL(redirectUri + search), {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        return claims === undefined ? null : identityOf(claims)
      } catch (error) {
        if (isRefusal(error)) return null
        throw away(error)
      }
    },
  }
}
