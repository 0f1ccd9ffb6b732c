import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts what must be kept and never read by others; `owner` is bound to what is sealed, and is needed to open it. */
export type Seal = {
  readonly seal: (text: string, owner: string) => string
  /** Throws for what was sealed under another key, for another owner, or altered. */
  readonly open: (sealed: string, owner: string) => string
}

/** Seal with AES-256-GCM under a key that is derived from `key`; `purpose` keeps the uses of one key apart. */
export const sealWith = (key: string, purpose: string): Seal => {
  const derived = Buffer.from(hkdfSync('sha256', key, '', `wattledger ${purpose}`, 32))
  return {
    seal: (text, owner) => {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, derived, nonce).setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()])
      return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64')
    },
    open: (sealed, owner) => {
      const bytes = Buffer.from(sealed, 'base64')
      const opening = createDecipheriv(cipher, derived, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(-tagBytes))
      return Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]).toString('utf8')
    },
  }
}
