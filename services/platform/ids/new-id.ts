import { createHash, createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { formatId, formatTimeOrderedId, type IdKind, idPrefixes } from '../../domain/identifier.ts'
import { type Secret, secretTexts } from '../access/secrets.ts'

const tailLimit = 2 ** 48

// One call for thousands of random bytes costs as much as a call for one byte.
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
 * Create the id of a stored object at `at` (ms): a prefix, 12 hex digits of the time and 12 random hex digits.
 * Ids of a process ascend, also if the clock stops or steps back.
 * Ids are not secret: neighbouring ids can be guessed. Source: docs/rules/identifiers-and-lists.md #time-order.
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
 * Return the same id for each write of an object: `at` (ms) and 48 bits of a hash of its name.
 * Collisions are unlikely for up to some thousand objects with the same `at`.
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

/**
 * Create a Connect token of 128 random bits.
 * It contains no time, because it is a secret that gives access to the session.
 */
export const newConnectToken = (): string => formatId('connectSession', randomBytes(16))

/** Create the token of an invitation or reset: 128 random bits in hex. */
export const newLinkToken = (): string => randomBytes(16).toString('hex')

/**
 * Create an API key: `sk_live_` or `sk_test_`, 160 random bits in hex, and a checksum of 8 digits.
 * The checksum detects typing errors.
 */
export const newApiKey = (liveMode: boolean): string => {
  const body = `${liveMode ? 'sk_live_' : 'sk_test_'}${randomBytes(20).toString('hex')}`
  return body + checksum(body)
}

/** Return the mode of an API key. Null if the text is not an API key. */
export const apiKeyMode = (key: string): { readonly liveMode: boolean } | null => {
  if (!/^sk_(live|test)_[0-9a-f]{48}$/.test(key) || checksum(key.slice(0, -8)) !== key.slice(-8)) return null
  return { liveMode: key.startsWith('sk_live_') }
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** Hash a random secret for storage and look-up: HMAC-SHA-256 with the server secret, in hex. */
export const hashSecret = (serverSecret: Secret, secret: string): string => secretHashes(serverSecret, secret)[0]

/** Return all possible stored hashes of a secret: with the current server secret, then with the former ones. */
export const secretHashes = (serverSecret: Secret, secret: string): readonly [string, ...string[]] => {
  const [current, ...former] = secretTexts(serverSecret)
  const hashed = (text: string): string => createHmac('sha256', text).update(secret).digest('hex')
  return [hashed(current), ...former.map(hashed)]
}
