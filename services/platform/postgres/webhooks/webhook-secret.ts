import { randomBytes } from 'node:crypto'
import { type Seal, sealWith } from '../../access/seal.ts'
import type { Secret } from '../../access/secrets.ts'

const secretBytes = 32
/** So many opened secrets are held, so that one that signs all day is not opened each time. */
const maxOpened = 1_000

/** Make a signing secret: `whsec_` and 256 random bits in base64. Source: Standard Webhooks 1.0, https://www.standardwebhooks.com. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`

/** What signing secrets are sealed for. */
export const webhookPurpose = 'webhook secrets'

/** Seal signing secrets, so that tables and their copies hold none; the owner is the endpoint's id. What was opened is remembered. */
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
