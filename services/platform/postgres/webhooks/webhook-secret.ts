import { randomBytes } from 'node:crypto'
import { type Seal, sealWith } from '../../access/seal.ts'
import type { Secret } from '../../access/secrets.ts'

const secretBytes = 32
/** Maximum opened secrets in memory, so that a secret in use is not opened again each time. */
const maxOpened = 1_000

/**
 * Create a signing secret: `whsec_` and 256 random bits in base64.
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
export const newWebhookSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`

/** Key derivation text of signing secrets. A change makes stored secrets unreadable. */
export const webhookPurpose = 'webhook secrets'

/** Seal signing secrets for storage; the owner is the id of the endpoint. Opened secrets are cached. */
export const webhookSeal = (installationSecret: Secret): Seal => {
  const { seal, open } = sealWith(installationSecret, webhookPurpose)
  const opened = new Map<string, string>()
  return {
    seal,
    open: (sealed, owner) => {
      const known = opened.get(`${owner} ${sealed}`)
      if (known !== undefined) return known
      const secret = open(sealed, owner)
      if (opened.size >= maxOpened) opened.clear()
      opened.set(`${owner} ${sealed}`, secret)
      return secret
    },
  }
}
