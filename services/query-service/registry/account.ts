import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { accountLogin, accountRetrieve, accountToWire } from '../../contract/registry/account.ts'
import {
  accountBrandNames,
  accountBrandRetrieve,
  accountBrandUpdate,
  namedBrandToWire,
} from '../../contract/registry/account-brand.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { tokenLifetimeSeconds } from '../../platform/access/bearer-token.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { retrieveAccount, updateAccountBrand } from '../../platform/postgres/registry/accounts.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { change, omitUndefined, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

const noAccount = refused('not_found', 'The account of this key does not exist. Ask the operator for a new key')

const testMode = refused(
  'insufficient_scope',
  'The brand applies to both modes, so only live mode may change it. Use a live key, or sign in to live mode',
)

/** Bind the operations on the brand of an account. Source: docs/rules/connect.md #brand. */
export const accountBrandOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(accountBrandRetrieve, async request => {
    const { accountId } = request.caller
    const account = await withTenant(dependencies.database, tenantOf(request), ({ query }) =>
      retrieveAccount(query, accountId),
    )
    return account === null ? noAccount : accepted(namedBrandToWire(account))
  }),
  bind(accountBrandUpdate, request =>
    change(dependencies, accountBrandUpdate, request, async ({ query }) => {
      const { accountId, liveMode } = request.caller
      const before = await retrieveAccount(query, accountId)
      if (before === null) return noAccount
      const { body } = request
      const stored = namedBrandToWire(before)
      const immutable = refuseFixedChange(body, stored, ['display_name', ...accountBrandNames])
      if (immutable !== null) return { ok: false, refusal: immutable }
      if (!liveMode) return testMode
      const patch = {
        displayName: body.display_name,
        privacyUrl: body.privacy_url,
        termsUrl: body.terms_url,
        logoUrl: body.logo_url,
        brandColor: body.brand_color,
      }
      const after = { ...before, ...omitUndefined(patch) }
      const value = namedBrandToWire(after)
      const detail = { before: stored, after: value }
      if (JSON.stringify(stored) === JSON.stringify(value)) return accepted({ value, events: [] })
      await updateAccountBrand(query, accountId, after)
      return accepted({ value, events: [], audit: [{ action: 'account.update', objectId: accountId, detail }] })
    }),
  ),
]

/** Bind the operations on the account of the caller. Source: docs/rules/authentication.md #login. */
export const accountOperations = ({
  database,
  bearerTokens,
  requestsPerSecond,
}: QueryServiceDependencies): readonly Binding[] => [
  bind(accountLogin, async ({ caller, at }) => {
    const token = await bearerTokens.sign(caller, at)
    return accepted({ bearer_token: token, expires_in: tokenLifetimeSeconds, live_mode: caller.liveMode })
  }),
  bind(accountRetrieve, async request => {
    const { accountId, liveMode } = request.caller
    const account = await withTenant(database, tenantOf(request), ({ query }) => retrieveAccount(query, accountId))
    if (account === null) return noAccount
    return accepted(
      accountToWire({ ...account, liveMode, requestsPerSecond: account.requestsPerSecond ?? requestsPerSecond }),
    )
  }),
]
