import { z } from 'zod'
import type { AccountBrand, StoredAccount } from '../../domain/registry/account.ts'
import { count, exampleObject, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { apiVersionDates } from '../api-version.ts'
import { defineOperation, sameRoute } from '../operation.ts'

const limitsShape = z.object({
  requests_per_second: orNull(count).describe('Limit of this account and mode; null for no limit.'),
  records_per_submission: count,
  submission_bytes: count,
  body_bytes: count,
})

export const accountShape = objectShape('acc', 'account', {
  display_name: z.string(),
  default_version: z
    .enum([apiVersionDates.current, apiVersionDates.earlier])
    .describe('API version of requests without the header Api-Version.'),
  limits: limitsShape,
})

export type AccountWire = z.output<typeof accountShape>

/** Account in one mode. */
export type Account = Omit<StoredAccount, 'disabledAt' | keyof AccountBrand> & { readonly liveMode: boolean }

/** Maximum size of bodies in bytes, and maximum records of a submission. Source: docs/rules/limits.md #requests. */
export const submissionLimits = {
  records: 10_000,
  bytes: 16 * 2 ** 20,
  recordBytes: 8 * 2 ** 10,
  otherBodyBytes: 2 ** 20,
} as const

/** Write an account. */
export const accountToWire = (account: Account): AccountWire =>
  objectToWire(
    'account',
    { ...account, accountId: account.id },
    {
      display_name: account.displayName,
      default_version: apiVersionDates[account.defaultApiVersion],
      limits: {
        requests_per_second: account.requestsPerSecond,
        records_per_submission: submissionLimits.records,
        submission_bytes: submissionLimits.bytes,
        body_bytes: submissionLimits.otherBodyBytes,
      },
    },
  )

export const accountRetrieve = defineOperation({
  id: 'account_retrieve',
  summary: 'Retrieve your account',
  description: 'Returns the account and mode of the token, with the default API version and the limits.',
  tag: 'Account',
  access: 'any',
  routes: sameRoute('GET', '/account'),
  answer: { name: 'Account', shape: accountShape },
  status: 200,
  examples: {
    answer: accountToWire({
      ...exampleObject('acc'),
      displayName: 'Sandbox',
      defaultApiVersion: 'current',
      requestsPerSecond: null,
    }),
  },
})

export const loginShape = z.object({
  bearer_token: z.string(),
  expires_in: count.describe('Seconds until the token expires.'),
  live_mode: z.boolean(),
})

const login = [
  { method: 'GET', path: '/login' },
  { id: 'account_login_post', method: 'POST', path: '/login' },
] as const

export const accountLogin = defineOperation({
  id: 'account_login',
  unaudited: 'Stores nothing. Programs log in every hour. A sign-in to the console by key has its own entry.',
  summary: 'Get a bearer token',
  description:
    'Send the account id and an API key as Basic credentials. The key selects live or test mode. A token is valid for one hour. You can also send the key with every request: as Bearer, or as Basic with the account id.',
  tag: 'Account',
  access: 'login',
  routes: { current: login, earlier: login },
  answer: { name: 'BearerToken', shape: loginShape },
  status: 200,
  refusals: ['bad_credentials', 'account_disabled', 'rate_limited'],
  examples: {
    answer: {
      bearer_token: 'eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl',
      expires_in: 3600,
      live_mode: false,
    },
  },
})
