import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { mint } from '../mint.ts'

const secretBytes = 32
const nonceBytes = 12
const tagBytes = 16
/** So many opened secrets are held, so that one that signs all day is not opened each time. */
const mostOpened = 1_000
const cipher = 'aes-256-gcm'

/** Seals and opens the secrets of webhook endpoints; `owner`, the id of the endpoint, is bound to what is sealed. */
export type WebhookSeal = {
  readonly seal: (secret: string, owner: string) => string
  /** Throws for text that was sealed under another secret, for another owner, or altered. */
  readonly open: (sealed: string, owner: string) => string
}

/** Make a signing secret: `whsec_` and 256 random bits in base64. Source: Standard Webhooks 1.0. */
export const mintWebhookSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`

/** Seal under a key that is derived from the secret of the installation, so that tables and their copies hold no signing secret. */
export const webhookSeal = (installationSecret: string): WebhookSeal => {
  const key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'wattledger webhook secrets', 32))
  const opened = new Map<string, string>()
  return {
    seal: (secret, owner) => {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([sealing.update(secret, 'utf8'), sealing.final()])
      return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64')
    },
    open: (sealed, owner) => {
      const known = opened.get(`${owner} ${sealed}`)
      if (known !== undefined) return known
      const bytes = Buffer.from(sealed, 'base64')
      const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(-tagBytes))
      const secret = Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]).toString('utf8')
      if (opened.size >= mostOpened) opened.clear()
      opened.set(`${owner} ${sealed}`, secret)
      return secret
    },
  }
}

const prefixes = { attempt: 'wha_', resend: 'whr_' } as const

/** Mint the id of an attempt (`wha_`) or of a resend (`whr_`), time-ordered like those of other stored objects. */
export const mintWebhookId = (kind: keyof typeof prefixes, at: number): string =>
  prefixes[kind] + mint('webhookDelivery', at).slice(prefixes[kind].length)
