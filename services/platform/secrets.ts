import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'

/** What the system signs and hashes with, and what the operator proves itself with. */
export type Secrets = { readonly secret: string; readonly operatorKey: string }

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
export function loadSecrets(dataFolder: string, given: { readonly secret: string | null; readonly operatorKey: string | null }): Secrets {
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
  return { secret, operatorKey }
}

/**
 * Take the key that credentials of providers are encrypted with: that of the configuration, else that of the data folder, which is made on
 * first use. Throws as `loadSecrets` does: what was sealed with a lost key is lost.
 */
export function loadCredentialsKey(dataFolder: string, given: string | null): string {
  if (given !== null) return given
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
