/** A secret and until when (ms, exclusive) it signs; null is without end. The newest one comes first. */
export type SigningSecret<Secret> = { readonly secret: Secret; readonly until: number | null }

/** How long a secret goes on signing beside the one that replaced it, in ms. Source: docs/rules/events-and-webhooks.md #signatures. */
export const rotationWindowMs = 86_400_000

const maxFormerSecrets = 10

/** Give the secrets that sign at `at`, newest first. */
export const signingSecrets = <Secret>(
  secrets: readonly SigningSecret<Secret>[],
  at: number,
): readonly SigningSecret<Secret>[] => secrets.filter(({ until }) => until === null || at < until)

/**
 * Put a fresh secret in front. The one before it signs for another 24 h, those before that one until their own end; ten former ones at
 * most are kept.
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
