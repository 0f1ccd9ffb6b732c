import { accountLogin, accountRetrieve, accountToWire } from '../../contract/registry/account.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { tokenLifetimeSeconds } from '../../platform/access/bearer-token.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Bind the operations on the account of the caller. Source: docs/rules/authentication.md #login. */
export const accountOperations = ({
  database,
  bearerTokens,
  requestsPerSecond,
}: QueryServiceDependencies): readonly Binding[] => [
  bind(accountLogin, async ({ caller: { accountId, liveMode, keyId }, at }) => {
    const token = await bearerTokens.sign({ accountId, liveMode, keyId }, at)
    return accepted({ bearer_token: token, expires_in: tokenLifetimeSeconds, live_mode: liveMode })
  }),
  bind(accountRetrieve, async request => {
    const { accountId, liveMode } = request.caller
    const account = await withTenant(database, tenantOf(request), ({ query }) => retrieveAccount(query, accountId))
    if (account === null)
      return refused('not_found', 'The account of this key does not exist. Ask the operator for a new key')
    return accepted(
      accountToWire({ ...account, liveMode, requestsPerSecond: account.requestsPerSecond ?? requestsPerSecond }),
    )
  }),
]
