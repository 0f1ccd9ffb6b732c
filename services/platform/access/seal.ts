import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import { type Secret, secretTexts } from './secrets.ts'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/**
 * Encrypts what must be kept and never read by others; `owner` is bound to what is sealed, and is needed to open it.
 */
export type Seal = {
  readonly seal: (text: string, owner: string) => string
  /** Throws for what was sealed under another key, for another owner, or altered. */
  readonly open: (sealed: string, owner: string) => string
}

/**
 * Seal with AES-256-GCM under a key that is derived from `key`; `purpose` keeps the uses of one key apart.
 * What was sealed under a former key opens as well.
 */
export const sealWith = (key: Secret, purpose: string): Seal => {
  const [present, ...former] = secretTexts(key)
  const { seal, open } = sealUnder(present, purpose)
  const openers = [open, ...former.map(text => sealUnder(text, purpose).open)]
  return { seal, open: (sealed, owner) => openWithAny(openers, sealed, owner) }
}

/**
 * Gives what is sealed under a former key sealed under the present one; null where it is so already, or opens under
 * none.
 */
export type Reseal = (sealed: string, owner: string) => string | null

/** Make what seals anew, for a key that was changed. */
export const resealWith = (key: Secret, purpose: string): Reseal => {
  const [present, ...former] = secretTexts(key).map(text => sealUnder(text, purpose))
  return (sealed, owner) => {
    if (present === undefined || openOrNull(present, sealed, owner) !== null) return null
    const text = former.map(one => openOrNull(one, sealed, owner)).find(found => found !== null)
    return text === undefined ? null : present.seal(text, owner)
  }
}

const openOrNull = ({ open }: Seal, sealed: string, owner: string): string | null => {
  try {
    return open(sealed, owner)
  } catch {
    return null
  }
}

const openWithAny = (openers: readonly Seal['open'][], sealed: string, owner: string): string => {
  let refused: unknown
  for (const open of openers) {
    try {
      return open(sealed, owner)
    } catch (error) {
      refused ??= error
    }
  }
  throw refused
}

const sealUnder = (key: string, purpose: string): Seal => {
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
