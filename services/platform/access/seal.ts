import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import { type Secret, secretTexts } from './secrets.ts'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts texts. `owner` is authenticated with the text and is needed for decryption. */
export type Seal = {
  readonly seal: (text: string, owner: string) => string
  /** Throws if the text was sealed with another key or owner, or was changed. */
  readonly open: (sealed: string, owner: string) => string
}

/**
 * Create a seal with AES-256-GCM. Its key is derived from `key` and `purpose`, so that each purpose has its own key.
 * Texts that were sealed with a former key can be opened too.
 */
export const sealWith = (key: Secret, purpose: string): Seal => {
  const [current, ...former] = secretTexts(key)
  const { seal, open } = sealUnder(current, purpose)
  const openers = [open, ...former.map(text => sealUnder(text, purpose).open)]
  return { seal, open: (sealed, owner) => openWithAny(openers, sealed, owner) }
}

/**
 * Encrypts a text of a former key with the current key. Null if it already has the current key, or if no key opens it.
 */
export type Reseal = (sealed: string, owner: string) => string | null

/** Create the function that re-encrypts texts after a change of the key. */
export const resealWith = (key: Secret, purpose: string): Reseal => {
  const [current, ...former] = secretTexts(key).map(text => sealUnder(text, purpose))
  return (sealed, owner) => {
    if (current === undefined || openOrNull(current, sealed, owner) !== null) return null
    const text = former.map(one => openOrNull(one, sealed, owner)).find(found => found !== null)
    return text === undefined ? null : current.seal(text, owner)
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
