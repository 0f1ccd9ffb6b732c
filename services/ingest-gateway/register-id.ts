import { hash } from 'node:crypto'
import { type RegisterIdentity, registerIdentityText } from '../domain/identifier.ts'

/**
 * Give the 24 hexadecimal digits of the id of the interval that a register reading opens: the first 96 bits of a SHA-256 over what makes
 * it the same. Source: docs/rules/identifiers-and-lists.md #record-ids.
 */
export const registerIdDigits = (opening: RegisterIdentity): string =>
  hash('sha256', registerIdentityText(opening), 'hex').slice(0, 24)
