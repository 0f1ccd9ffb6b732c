import type { Tenant } from '../../domain/tenant.ts'
import { normalizeAddress } from '../../domain/user/user.ts'
import type { PasswordHasher } from '../../platform/access/password-hash.ts'
import type { SignInFailure } from '../../platform/access/sign-in-failures.ts'
import type { SignInThrottle } from '../../platform/http/throttle/sign-in-throttle.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { readKeyState } from '../../platform/postgres/registry/api-keys.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { deleteUserLinks } from '../../platform/postgres/users/user-links.ts'
import { findUsersByAddress, type SignInUser } from '../../platform/postgres/users/user-sign-in.ts'
import type { Fault } from '../api.ts'
import { type SessionDependencies, signIn } from '../session.ts'

export type UserSignInDependencies = SessionDependencies & {
  readonly database: Database
  readonly passwords: PasswordHasher
  readonly throttle: SignInThrottle
  readonly onSignInFailure: (failure: SignInFailure) => void
}

/** Report a refused sign-in of a known user. */
export const reportFailure = (
  { onSignInFailure }: Pick<UserSignInDependencies, 'onSignInFailure'>,
  { accountId, liveMode, id: objectId }: Tenant & { readonly id: string },
  reason: SignInFailure['reason'],
  peer: string,
): void => onSignInFailure({ accountId, liveMode, action: 'user.sign_in_failed', objectId, reason, peer })

/** Token of a new session, or the reason of the refusal with its status. */
export type SignInResult =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly status: number; readonly fault: Fault }

const refuse = (status: number, code: string, message: string): SignInResult => ({
  ok: false,
  status,
  fault: { code, message, field: null },
})

/** One text for all reasons, so that a visitor cannot learn which users exist. */
const wrongPassword = refuse(
  401,
  'bad_credentials',
  'The address or the password is wrong. If your address belongs to several accounts, fill in the account ID.',
)
const tooMany = refuse(429, 'rate_limited', 'Too many sign-ins failed. Wait a minute, then try again.')
const disabled = refuse(403, 'account_disabled', 'This account is disabled: ask the operator to enable it.')

/** Proof of the identity of a user, and the address of the client. */
type SignInProof = { readonly method: 'password' | 'provider' | 'link'; readonly peer: string }

/**
 * Create a session of a user whose identity is proven, in the mode of the user. The audit log names the method. The open
 * link of the user ends. Refuses a disabled account.
 */
export const startUserSession = async (
  dependencies: UserSignInDependencies,
  user: SignInUser,
  { method, peer }: SignInProof,
  at: number,
): Promise<SignInResult> => {
  const { accountId, liveMode, id, sessionGeneration } = user
  const subject = { accountId, liveMode, keyId: id }
  const state = await readKeyState(dependencies.database.operator, subject)
  if (state === null) return wrongPassword
  if (state.isDisabled) {
    reportFailure(dependencies, user, 'account_disabled', peer)
    return disabled
  }
  await withTenant(dependencies.database, user, async transaction => {
    await deleteUserLinks(transaction, id)
    await appendAudit(transaction.query, transaction, {
      actor: id,
      action: 'user.sign_in',
      objectId: id,
      detail: { method },
      at,
    })
  })
  const { accessGeneration = 0 } = state
  const grant = { ...subject, accessGeneration, userGeneration: sessionGeneration }
  return { ok: true, token: await signIn(dependencies, grant, at) }
}

/** Password of a sign-in form. `account` is empty if the visitor left it out. */
type SentPassword = { readonly address: string; readonly password: string; readonly account: string }

/** Users whose password a sign-in tries, and so the number of hashes of each sign-in. */
const maxTriedUsers = 3

/**
 * Return the user of a right password. A user of live mode precedes the user of test mode of the same account. Null if the
 * users with this password belong to several accounts: then only the account id decides.
 */
const chooseUser = (right: readonly SignInUser[]): SignInUser | null => {
  const accounts = new Set(right.map(({ accountId }) => accountId))
  return accounts.size === 1 ? (right.find(({ liveMode }) => liveMode) ?? right[0] ?? null) : null
}

/**
 * Sign in with a password. It is tried with the first users of the address, so that an account that invites the address of
 * another user cannot break the sign-in of that user. The number of hashes is always the same, also for an unknown address.
 * Refuses with one text for all reasons, and with 429 after too many failures.
 * Source: docs/rules/users.md #sign-in.
 */
export const signInWithPassword = async (
  dependencies: UserSignInDependencies,
  sent: SentPassword,
  peer: string,
  at: number,
): Promise<SignInResult> => {
  const address = normalizeAddress(sent.address)
  const attempt = await dependencies.throttle.begin(peer, address ?? '')
  if (attempt === null) return tooMany
  const account = sent.account.trim()
  const users =
    address === null
      ? []
      : await findUsersByAddress(
          dependencies.database.operator,
          address,
          account === '' ? null : account,
          maxTriedUsers,
        )
  const hashes = Array.from({ length: maxTriedUsers }, (_, index) => users[index]?.passwordHash ?? null)
  const results = await dependencies.passwords.verifyEach(sent.password, hashes)
  const user = chooseUser(users.filter((_, index) => results[index] === true))
  if (user === null) {
    const failed = users.filter((_, index) => results[index] !== true)
    for (const one of failed) reportFailure(dependencies, one, 'wrong_password', peer)
    return wrongPassword
  }
  await attempt.succeed()
  return startUserSession(dependencies, user, { method: 'password', peer }, at)
}
