import { createHash, createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { formatId, formatTimeOrderedId, type IdKind, idPrefixes } from '../../domain/identifier.ts'
import { type Secret, secretTexts } from '../access/secrets.ts'

const tailLimit = 2 ** 48

// Random bytes cost as much to ask for as thousands of them.
let pool = Buffer.alloc(0)
let usedBytes = 0
const randomInteger = (size: number): number => {
  if (usedBytes + size > pool.length) {
    pool = randomBytes(6_000)
    usedBytes = 0
  }
  usedBytes += size
  return pool.readUIntBE(usedBytes - size, size)
}

let lastAt = 0
let lastTail = 0

/**
 * Mint the id of a stored object at `at` (ms): its prefix, 12 hex digits of the time and 12 of chance.
 * Within one process each id sorts after the one before it, also where time stands still or steps back.
 * Not a secret: who knows one id can guess near ones. Source: docs/rules/identifiers-and-lists.md #time-order.
 */
export const newId = (kind: Exclude<IdKind, 'connectSession' | 'meterRecord'>, at: number): string => {
  const nextTail = lastTail + 1 + randomInteger(1)
  if (at > lastAt || nextTail >= tailLimit) {
    lastAt = Math.max(at, lastAt + 1)
    lastTail = Math.floor(randomInteger(6) / 2)
  } else {
    lastTail = nextTail
  }
  const tail = Buffer.alloc(6)
  tail.writeUIntBE(lastTail, 0, 6)
  return formatTimeOrderedId(kind, lastAt, tail)
}

/**
 * Give the id of a thing that may be written again, the same each time:
 * `at` (ms), then 48 bits of a hash over what names it.
 * Good for some thousand things of one `at`.
 */
export const deterministicId = (
  kind: Exclude<IdKind, 'connectSession' | 'meterRecord'>,
  at: number,
  name: readonly string[],
): string => formatTimeOrderedId(kind, at, createHash('sha256').update(JSON.stringify(name)).digest())

/**
 * Return a placeholder id for an unknown own reference.
 * A failed record that names the reference is stored under this id.
 * If an object gets the reference later, its erasure finds the failure. Equal references of a tenant give equal ids.
 */
export const referencePlaceholderId = (
  { accountId, liveMode }: { readonly accountId: string; readonly liveMode: boolean },
  kind: 'location' | 'device',
  reference: string,
): string => {
  const hash = createHash('sha256')
    .update(`reference ${kind} ${accountId} ${liveMode ? 'L' : 'T'} ${reference}`)
    .digest('hex')
  return idPrefixes[kind] + hash.slice(0, 24)
}

/** Mint a Connect token: 128 random bits, none of them time, because whoever holds it may act on the session. */
export const newConnectToken = (): string => formatId('connectSession', randomBytes(16))

/**
 * Mint an API key:
 * `sk_live_` or `sk_test_`, 160 random bits in hex, and 8 digits of checksum that show typing errors without a look-up.
 */
export const newApiKey = (liveMode: boolean): string => {
  const body = `${liveMode ? 'sk_live_' : 'sk_test_'}${randomBytes(20).toString('hex')}`
  return body + checksum(body)
}

/** Tell the mode of an API key; null for text that was never one. */
export const apiKeyMode = (key: string): { readonly liveMode: boolean } | null => {
  if (!/^sk_(live|test)_[0-9a-f]{48}$/.test(key) || checksum(key.slice(0, -8)) !== key.slice(-8)) return null
  return { liveMode: key.startsWith('sk_live_') }
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** Hash a secret of our own making for storage and look-up: HMAC-SHA-256 under the server's secret, in hex. */
export const hashSecret = (serverSecret: Secret, secret: string): string => secretHashes(serverSecret, secret)[0]

/**
 * The hashes under which such a secret may be kept: that under the server's present secret, then those under its former
 * ones.
 */
export const secretHashes = (serverSecret: Secret, secret: string): readonly [string, ...string[]] => {
  const [present, ...former] = secretTexts(serverSecret)
  const hashed = (text: string): string => createHmac('sha256', text).update(secret).digest('hex')
  return [hashed(present), ...former.map(hashed)]
}
