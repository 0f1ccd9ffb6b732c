import type { OwnedObject } from '../tenant.ts'

/** Roles of a user, the strongest first. */
export const userRoles = ['owner', 'support', 'read'] as const
export type UserRole = (typeof userRoles)[number]

/**
 * Scope of each role. `all` may call every operation. `support` may not change keys, users and webhook endpoints.
 * Source: docs/rules/users.md #roles.
 */
export const scopeOfRole: Readonly<Record<UserRole, 'all' | 'support' | 'read'>> = {
  owner: 'all',
  support: 'support',
  read: 'read',
}

/**
 * User of the console. `acceptedAt`: instant of the first password or provider login, or null while invited.
 * `providerIssuer` and `providerSubject` identify the user at the OpenID provider. Instants in ms.
 */
export type User = OwnedObject & {
  readonly address: string
  readonly role: UserRole
  readonly hasPassword: boolean
  readonly providerIssuer: string | null
  readonly providerSubject: string | null
  readonly acceptedAt: number | null
}

/**
 * Return the modes that a user may enter. A user of live mode enters both; a user of test mode enters test mode only.
 * Source: docs/rules/users.md #roles.
 */
export const modesOf = ({ liveMode }: Pick<User, 'liveMode'>): readonly boolean[] =>
  liveMode ? [true, false] : [false]

/** Max users of an account in one mode. */
export const maxUsers = 200

/** Validity of the link of an invitation or reset, in ms. */
export const linkLifetimeMs: number = 72 * 3_600_000

/** Purpose of a link: it accepts an invitation, or sets a new password. */
export type LinkPurpose = 'invitation' | 'reset'

const addressPattern = /^[^\s@<>"(),:;[\]\\]{1,64}@[a-z0-9.-]{1,189}$/

/** Return the normal form of an e-mail address: lower case, without spaces around it. Null if the text is not an address. */
export const normalizeAddress = (text: string): string | null => {
  const address = text.trim().toLowerCase()
  return addressPattern.test(address) ? address : null
}

export const minPasswordLength = 12
export const maxPasswordLength = 128

/** Reason of a refused password. */
export type PasswordProblem = 'too_short' | 'too_long' | 'is_address'

/**
 * Validate a password by its number of characters. A password that is equal to the address is easy to guess.
 * Returns null if it is accepted. Source: docs/rules/users.md #passwords.
 */
export const passwordProblem = (password: string, address: string): PasswordProblem | null => {
  const length = password.length > maxPasswordLength * 2 ? password.length : [...password].length
  if (length < minPasswordLength) return 'too_short'
  if (length > maxPasswordLength) return 'too_long'
  return password.normalize('NFC').toLowerCase() === address ? 'is_address' : null
}

/** Ways in which a user can sign in. */
export type Credential = 'password' | 'provider_login'

/**
 * Return whether a user is the last owner who can sign in. `owners`: ids of all owners with a password or a login.
 * The last owner can neither be removed nor lose the role or the last credential. Source: docs/rules/users.md #last-owner.
 */
export const isLastOwner = (userId: string, owners: readonly string[]): boolean =>
  owners.length === 1 && owners[0] === userId

/** Max characters of the issuer and of the subject of a login at an OpenID provider. */
export const maxProviderText = 255

/**
 * Validate a text of an OpenID provider, by the rules of every stored text. Returns the end of a sentence that begins
 * with the name of the text, or null if it is accepted. Source: docs/rules/users.md #openid-connect.
 */
export const providerTextProblem = (text: string): string | null => {
  if (text === '') return 'is empty'
  if (text.length > maxProviderText * 2 || [...text].length > maxProviderText)
    return `has more than ${maxProviderText} characters`
  if (text.includes('\0')) return 'contains the character NUL'
  return text.isWellFormed() ? null : 'is not valid Unicode'
}
