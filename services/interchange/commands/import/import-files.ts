import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  createReadStream,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CommandError } from '../../../command-line/command.ts'
import { readFileChunks } from '../../platform/archive.ts'

/** Source of an import: a file, or standard input under the name `-`. */
export type SourceFile = {
  readonly name: string
  /** Size in bytes; null for standard input. */
  readonly bytes: number | null
  /** SHA-256 in hexadecimal digits; of standard input only after its end. */
  readonly sha256: () => string
  /** Read the chunks. `onBytes` receives their number of bytes. */
  readonly chunks: (onBytes: (bytes: number) => void) => AsyncIterable<Uint8Array>
  /** Path beside the file, or in `dataFolder` if the folder of the file is read-only. */
  readonly besides: (ending: string) => string
}

const unreadable = (name: string, error: unknown): CommandError =>
  new CommandError(`${name} is not readable: ${error instanceof Error ? error.message : String(error)}`)

const hashOf = async (name: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(name, { highWaterMark: 2 ** 20 })) hash.update(chunk)
  return hash.digest('hex')
}

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Open a file, or standard input for `-`. Throws `CommandError` if the file is not readable. */
export const openSource = async (name: string, dataFolder: string): Promise<SourceFile> => {
  if (name === '-') return standardInput()
  try {
    if (!statSync(name).isFile()) throw new Error('it is no file')
    const sha256 = await hashOf(name)
    const folder = isWritable(dirname(name)) ? dirname(name) : dataFolder
    return {
      name,
      bytes: statSync(name).size,
      sha256: () => sha256,
      chunks: onBytes => readFileChunks(name, onBytes),
      besides: ending => join(folder, basename(name) + ending),
    }
  } catch (error) {
    throw unreadable(name, error)
  }
}

const standardInput = (): SourceFile => {
  const hash = createHash('sha256')
  const chunks = async function* (onBytes: (bytes: number) => void) {
    for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
      hash.update(chunk)
      onBytes(chunk.length)
      yield chunk
    }
  }
  return {
    name: '-',
    bytes: null,
    sha256: () => hash.copy().digest('hex'),
    chunks,
    besides: ending => `stdin${ending}`,
  }
}

/** Paths of the files of an import. */
export type ImportPaths = {
  readonly refused: string
  /** Null for standard input, and for a dry run: neither continues. */
  readonly state: string | null
}

/** Return the paths beside a source. A dry run has a file of refused rows of its own, so that it changes no import. */
export const pathsBeside = ({ bytes, besides }: SourceFile, isDryRun: boolean): ImportPaths => ({
  refused: besides(isDryRun ? '.dry-run.refused.csv' : '.refused.csv'),
  state: isDryRun || bytes === null ? null : besides('.import-state.json'),
})

/** Progress of an import of a file. `line` is the last line whose rows are acknowledged or refused. */
export type ImportState = {
  readonly sha256: string
  readonly importId: string
  /** Options, account, mode and address of the import. */
  readonly options: string
  readonly line: number
  readonly accepted: number
  readonly refused: number
  /** Size of the file with the refused rows. */
  readonly refusedBytes: number
}

const isState = (value: unknown): value is ImportState =>
  typeof value === 'object' &&
  value !== null &&
  ['line', 'accepted', 'refused', 'refusedBytes'].every(name => Number.isSafeInteger(Reflect.get(value, name))) &&
  ['sha256', 'importId', 'options'].every(name => typeof Reflect.get(value, name) === 'string')

/** Read the state of an import. Null if there is none, or one of another file or other options. */
export const readState = (
  path: string,
  { sha256, options }: Pick<ImportState, 'sha256' | 'options'>,
): ImportState | null => {
  try {
    const state: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isState(state) && state.sha256 === sha256 && state.options === options ? state : null
  } catch {
    // A missing or damaged state means a new start. Records that are sent again count once.
    return null
  }
}

/** Replace the state of an import. A kill leaves the old or the new state. */
export const saveState = (path: string, state: ImportState): void => {
  writeFileSync(`${path}.part`, JSON.stringify(state))
  renameSync(`${path}.part`, path)
}

export const removeState = (path: string): void => {
  rmSync(path, { force: true })
  rmSync(`${path}.part`, { force: true })
}
