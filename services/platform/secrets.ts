import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './failure.ts'

/** What the system signs and hashes with, and what the operator proves itself with. */
export type Secrets = { readonly secret: string; readonly operatorKey: string }

const isStored = (value: unknown): value is { readonly secret: string; readonly operator_key: string } =>
  typeof value === 'object' && value !== null && ['secret', 'operator_key'].every(name => typeof Reflect.get(value, name) === 'string')

/**
 * Take the secrets given by configuration, else those of the data folder, which are made on first use (owner-readable only).
 * Throws when the stored file cannot be read: keys that were hashed with a lost secret would all be dead.
 */
export function loadSecrets(dataFolder: string, given: { readonly secret: string | null; readonly operatorKey: string | null }): Secrets {
  if (given.secret !== null && given.operatorKey !== null) return { secret: given.secret, operatorKey: given.operatorKey }
  const file = join(dataFolder, 'secrets.json')
  if (!existsSync(file)) {
    mkdirSync(dataFolder, { recursive: true })
    writePrivately(file, { secret: randomBytes(32).toString('hex'), operator_key: `ok_${randomBytes(24).toString('hex')}` })
  }
  const own: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!isStored(own)) throw new Failure('secrets_unreadable', `${file} does not hold the secrets; restore it`, { retriable: false })
  return { secret: given.secret ?? own.secret, operatorKey: given.operatorKey ?? own.operator_key }
}

/** Write a JSON file that only its owner can read, whole or not at all, durable when this returns. */
export function writePrivately(file: string, value: unknown): void {
  const part = `${file}.part`
  const descriptor = openSync(part, 'w', 0o600)
  try {
    writeSync(descriptor, `${JSON.stringify(value, null, 2)}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(part, file)
}
