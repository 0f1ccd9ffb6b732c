import { accountLogin } from '../../contract/registry/account.ts'
import { accepted } from '../../domain/refusal.ts'
import { tokenLifetimeSeconds } from '../../platform/access/bearer-token.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Bind the operation that exchanges an API key for a bearer token. Source: docs/rules/authentication.md #login. */
export const loginOperations = ({ bearerTokens }: QueryServiceDependencies): readonly Binding[] => [
  bind(accountLogin, async ({ caller: { accountId, liveMode, keyId }, at }) => {
    const token = await bearerTokens.sign({ accountId, liveMode, keyId }, at)
    return accepted({ bearer_token: token, expires_in: tokenLifetimeSeconds, live_mode: liveMode })
  }),
]
