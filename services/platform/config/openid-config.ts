import { z } from 'zod'
import { ConfigError } from '../failure.ts'

const isLoopback = ({ hostname }: URL): boolean => ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)

const issuer = z.url({ protocol: /^https?$/ }).refine(
  text => {
    const url = new URL(text)
    return url.search === '' && url.hash === '' && (url.protocol === 'https:' || isLoopback(url))
  },
  { message: 'must be the https address of an issuer, without a query' },
)

/** Variables of the OpenID provider. */
export const openIdVariables = {
  WATTLEDGER_OIDC_ISSUER: issuer
    .optional()
    .describe('Issuer of the OpenID provider for users of the console. Needs WATTLEDGER_PUBLIC_URL. Default: none.'),
  WATTLEDGER_OIDC_NAME: z
    .string()
    .min(1)
    .max(64)
    .default('OpenID')
    .describe('Name of the OpenID provider on the sign-in page.'),
  WATTLEDGER_OIDC_CLIENT_ID: z.string().min(1).optional().describe('Client id at the OpenID provider.'),
  WATTLEDGER_OIDC_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret at the OpenID provider.'),
  WATTLEDGER_OIDC_CLIENT_SECRET_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File with the client secret, instead of WATTLEDGER_OIDC_CLIENT_SECRET.'),
}

/** OpenID provider. The secret is in a variable or a file. `redirectUri` is the exact address of the callback. */
export type OpenIdConfig = {
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly secretFile: string | null
  readonly redirectUri: string
}

type OpenIdValues = z.output<z.ZodObject<typeof openIdVariables>>

/**
 * Read the settings of the OpenID provider; null without an issuer. `publicUrl` is the origin of the service.
 * Throws `ConfigError` if a setting is missing.
 */
export const readOpenIdConfig = (value: OpenIdValues, publicUrl: string | null): OpenIdConfig | null => {
  const { WATTLEDGER_OIDC_ISSUER: issuer, WATTLEDGER_OIDC_CLIENT_ID: clientId } = value
  const clientSecret = value.WATTLEDGER_OIDC_CLIENT_SECRET ?? null
  const secretFile = value.WATTLEDGER_OIDC_CLIENT_SECRET_FILE ?? null
  if (issuer === undefined) return null
  if (publicUrl === null) throw new ConfigError('WATTLEDGER_OIDC_ISSUER needs WATTLEDGER_PUBLIC_URL.')
  if (clientId === undefined) throw new ConfigError('WATTLEDGER_OIDC_ISSUER needs WATTLEDGER_OIDC_CLIENT_ID.')
  if ((clientSecret === null) === (secretFile === null))
    throw new ConfigError('Set one of WATTLEDGER_OIDC_CLIENT_SECRET and WATTLEDGER_OIDC_CLIENT_SECRET_FILE.')
  const name = value.WATTLEDGER_OIDC_NAME
  return { name, issuer, clientId, clientSecret, secretFile, redirectUri: `${publicUrl}/console/oidc/callback` }
}
