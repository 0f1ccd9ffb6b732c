import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'

/**
 * A secret that may have been changed. The first text is the present one: it signs, hashes and seals. What was made with one of the others
 * holds still. A text alone was never changed.
 */
export type Secret = string | readonly [string, ...string[]]

/** List the texts of a secret, the present one first. */
export const textsOf = (secret: Secret): readonly [string, ...string[]] => (typeof secret === 'string' ? [secret] : secret)

/** What the system signs and hashes with, and what the operator proves itself with. */
export type Secrets = { readonly secret: Secret; readonly operatorKey: string }

/** What configuration gives; former secrets and keys are no longer used for anything new. */
type Given = { readonly secret: string | null; readonly formerSecrets?: readonly string[]; readonly operatorKey: string | null }

/** What the data folder keeps: only what configuration did not give, so that nobody mistakes an unused secret for the one in use. */
type Stored = { readonly secret?: string; readonly operator_key?: string; readonly credentials_key?: string }

const readStored = (file: string): Stored => {
  if (!existsSync(file)) return {}
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
  const isText = (name: string): boolean => ['string', 'undefined'].includes(typeof Reflect.get(value as object, name))
  if (typeof value === 'object' && value !== null && isText('secret') && isText('operator_key') && isText('credentials_key')) return value
  throw new Failure('secrets_unreadable', `${file} does not hold the secrets; restore it`, { retriable: false })
}

/**
 * Take the secrets given by configuration, else those of the data folder, which are made on first use (owner-readable only).
 * Throws when the stored file cannot be read: keys that were hashed with a lost secret would all be dead.
 */
export function loadSecrets(dataFolder: string, given: Given): Secrets {
  const file = join(dataFolder, 'secrets.json')
  const known = readStored(file)
  const secret = given.secret ?? known.secret ?? randomBytes(32).toString('hex')
  const operatorKey = given.operatorKey ?? known.operator_key ?? `ok_${randomBytes(24).toString('hex')}`
  const kept: Stored = {
    ...known,
    ...(given.secret === null && { secret }),
    ...(given.operatorKey === null && { operator_key: operatorKey }),
  }
  if (kept.secret !== known.secret || kept.operator_key !== known.operator_key) {
    mkdirSync(dataFolder, { recursive: true, mode: 0o711 })
    writePrivately(file, kept)
  }
  return { secret: withFormer(secret, given.formerSecrets), operatorKey }
}

const withFormer = (present: string, former: readonly string[] = []): Secret => (former.length === 0 ? present : [present, ...former])

/**
 * Take the key that credentials of providers are encrypted with: that of the configuration, else that of the data folder, which is made on
 * first use. Throws as `loadSecrets` does: what was sealed with a lost key is lost.
 */
export function loadCredentialsKey(dataFolder: string, given: string | null, former: readonly string[] = []): Secret {
  return withFormer(given ?? storedCredentialsKey(dataFolder), former)
}

function storedCredentialsKey(dataFolder: string): string {
  const file = join(dataFolder, 'secrets.json')
  const known = readStored(file)
  if (known.credentials_key !== undefined) return known.credentials_key
  const made = randomBytes(32).toString('hex')
  mkdirSync(dataFolder, { recursive: true, mode: 0o711 })
  writePrivately(file, { ...known, credentials_key: made })
  return made
}

/** Write a JSON file that only its owner can read, whole or not at all, durable when this returns. */
export function writePrivately(file: string, value: unknown): void {
  const part = `${file}.part`
  const synced = (path: string, flags: string, work: (descriptor: number) => void): void => {
    const descriptor = openSync(path, flags, 0o600)
    try {
      work(descriptor)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
  synced(part, 'w', descriptor => writeSync(descriptor, `${JSON.stringify(value, null, 2)}\n`))
  renameSync(part, file)
  synced(dirname(file), 'r', () => undefined)
}
