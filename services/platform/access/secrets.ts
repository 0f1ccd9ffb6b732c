import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder } from '../create-folder.ts'
import { Failure } from '../failure.ts'

/**
 * A secret with its former values. The first text is current: it signs, hashes and encrypts.
 * Former texts still verify and decrypt.
 * A single text has no former values.
 */
export type Secret = string | readonly [string, ...string[]]

/** Return the texts of a secret, the current one first. */
export const secretTexts = (secret: Secret): readonly [string, ...string[]] =>
  typeof secret === 'string' ? [secret] : secret

/** Secret for signing and hashing, and the key of the operator. */
export type Secrets = { readonly secret: Secret; readonly operatorKey: string }

/** Secrets of the configuration. Former secrets only verify and decrypt existing data. */
type ConfiguredSecrets = {
  readonly secret: string | null
  readonly formerSecrets?: readonly string[]
  readonly operatorKey: string | null
}

/**
 * Secrets of the data folder.
 * Secrets from the configuration are not stored, so that the file contains only secrets in use.
 */
type StoredSecrets = { readonly secret?: string; readonly operator_key?: string; readonly credentials_key?: string }

const fileOf = (dataFolder: string): string => join(dataFolder, 'secrets.json')

/** Read the secrets that a data folder stores. Throws `Failure` `secrets_unreadable` if the file is damaged. */
export const readStoredSecrets = (dataFolder: string): StoredSecrets => {
  const file = fileOf(dataFolder)
  if (!existsSync(file)) return {}
  const value = readJsonFile(file)
  const isText = (name: string): boolean => ['string', 'undefined'].includes(typeof Reflect.get(value as object, name))
  if (
    typeof value === 'object' &&
    value !== null &&
    isText('secret') &&
    isText('operator_key') &&
    isText('credentials_key')
  )
    return value
  throw new Failure(
    'secrets_unreadable',
    `${file} is damaged. Restore it from a backup: without it every API key is invalid.`,
  )
}

/** Parse a JSON file. Undefined if its text is not JSON. Throws the system error if the file cannot be read. */
export const readJsonFile = (file: string): unknown => {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A loaded or created secret. `isNew`: it was created now and is lost unless `save` writes it to the data folder. */
export type LoadedSecret<T> = { readonly value: T; readonly isNew: boolean; readonly save: () => void }

/**
 * Load the secrets from the configuration or the data folder, and create missing ones.
 * Nothing is written before `save`.
 * Throws `Failure` `secrets_unreadable` if the stored file is damaged: without its secret every API key is invalid.
 */
export function loadSecrets(dataFolder: string, given: ConfiguredSecrets): LoadedSecret<Secrets> {
  const known = readStoredSecrets(dataFolder)
  const secret = given.secret ?? known.secret ?? randomBytes(32).toString('hex')
  const operatorKey = given.operatorKey ?? known.operator_key ?? `ok_${randomBytes(24).toString('hex')}`
  const toStore: StoredSecrets = {
    ...known,
    ...(given.secret === null && { secret }),
    ...(given.operatorKey === null && { operator_key: operatorKey }),
  }
  const save = (): void => {
    if (toStore.secret === known.secret && toStore.operator_key === known.operator_key) return
    createFolder(dataFolder, 0o711)
    writePrivateFile(fileOf(dataFolder), { ...readStoredSecrets(dataFolder), ...toStore })
  }
  const isNew = given.secret === null && known.secret === undefined
  return { value: { secret: withFormer(secret, given.formerSecrets), operatorKey }, isNew, save }
}

const withFormer = (current: string, former: readonly string[] = []): Secret =>
  former.length === 0 ? current : [current, ...former]

/**
 * Load the key that encrypts provider credentials from the configuration or the data folder, or create it.
 * Nothing is written before `save`. Throws the same errors as `loadSecrets`.
 */
export function loadCredentialsKey(
  dataFolder: string,
  given: string | null,
  former: readonly string[] = [],
): LoadedSecret<Secret> {
  if (given !== null) return { value: withFormer(given, former), isNew: false, save: () => undefined }
  const known = readStoredSecrets(dataFolder).credentials_key
  if (known !== undefined) return { value: withFormer(known, former), isNew: false, save: () => undefined }
  const newKey = randomBytes(32).toString('hex')
  const save = (): void => {
    createFolder(dataFolder, 0o711)
    writePrivateFile(fileOf(dataFolder), { ...readStoredSecrets(dataFolder), credentials_key: newKey })
  }
  return { value: withFormer(newKey, former), isNew: true, save }
}

/** Write a JSON file atomically and durably. Only its owner can read it. */
export function writePrivateFile(file: string, value: unknown): void {
  const temporaryFile = `${file}.part`
  const synced = (path: string, flags: string, work: (descriptor: number) => void): void => {
    const descriptor = openSync(path, flags, 0o600)
    try {
      work(descriptor)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
  synced(temporaryFile, 'w', descriptor => writeSync(descriptor, `${JSON.stringify(value, null, 2)}\n`))
  renameSync(temporaryFile, file)
  synced(dirname(file), 'r', () => undefined)
}
