import { dayMs } from '../interval.ts'

/** Secret and the end (ms, exclusive) of its use for signatures; null means no end. The newest secret comes first. */
export type SigningSecret<Secret> = { readonly secret: Secret; readonly until: number | null }

/**
 * Time in ms for which a replaced secret still signs.
 * Source: docs/rules/events-and-webhooks.md #signatures.
 */
export const rotationWindowMs: number = dayMs

const maxFormerSecrets = 10

/** Return the secrets that sign at `at`, newest first. */
export const signingSecrets = <Secret>(
  secrets: readonly SigningSecret<Secret>[],
  at: number,
): readonly SigningSecret<Secret>[] => secrets.filter(({ until }) => until === null || at < until)

/**
 * Add a new secret in front. The secret before it signs for another 24 h, older ones until their own end. At most ten
 * older secrets are stored.
 */
export const rotateSecret = <Secret>(
  secrets: readonly SigningSecret<Secret>[],
  newSecret: Secret,
  at: number,
): readonly SigningSecret<Secret>[] => {
  const formerSecrets = signingSecrets(secrets, at).map(({ secret, until }) => ({
    secret,
    until: until ?? at + rotationWindowMs,
  }))
  return [{ secret: newSecret, until: null }, ...formerSecrets.slice(0, maxFormerSecrets)]
}
