import { accountLogin } from '../../contract/account.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { tokenLifetimeSeconds } from '../../platform/bearer-token.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { apiKeyMode, hashesOf } from '../../platform/mint.ts'
import { findApiKey, readKeyState } from '../../platform/postgres/api-keys.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** The same words whatever is wrong, so that nobody learns which accounts and keys exist. */
const wrong = refused('bad_credentials', 'Send Authorization: Basic with the account id and an API key of it')

/** Bind the operation that gives bearer tokens. Source: contract decisions 4. */
export const loginOperations = ({ database, bearerTokens, secret }: QueryServiceDependencies): readonly Binding[] => [
  bind(accountLogin, async ({ credentials, at }) => {
    if (credentials === null || apiKeyMode(credentials.apiKey) === null) return wrong
    const key = await findApiKey(database.operator, hashesOf(secret, credentials.apiKey))
    if (key === null || key.accountId !== credentials.accountId) return wrong
    const subject = { accountId: key.accountId, liveMode: key.liveMode, keyId: key.id }
    const state = await readKeyState(database.operator, subject)
    if (state === null) return wrong
    if (state.disabled) return refused('account_disabled', 'This account is disabled: ask the operator to enable it')
    const token = await bearerTokens.sign(subject, at)
    return accepted({ bearer_token: token, expires_in: tokenLifetimeSeconds, live_mode: key.liveMode })
  }),
]
