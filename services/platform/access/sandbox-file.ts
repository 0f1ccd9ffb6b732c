import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { readJsonFile } from './secrets.ts'

/**
 * Address and keys of the sandbox account.
 * The service writes them to `sandbox.json` in its data folder, readable by its owner only.
 */
export type Sandbox = {
  readonly base_url: string
  readonly account_id: string
  readonly live_key: string
  readonly test_key: string
  readonly operator_key: string
}

const members = ['base_url', 'account_id', 'live_key', 'test_key', 'operator_key'] as const

export const sandboxFile = (dataFolder: string): string => join(dataFolder, 'sandbox.json')

const isSandbox = (value: unknown): value is Sandbox =>
  typeof value === 'object' && value !== null && members.every(name => typeof Reflect.get(value, name) === 'string')

/**
 * Read the sandbox of a data folder; null if its file is missing.
 * Throws `Failure` `sandbox_unreadable` if the file is damaged.
 */
export const readSandbox = (dataFolder: string): Sandbox | null => {
  const file = sandboxFile(dataFolder)
  if (!existsSync(file)) return null
  const value = readJsonFile(file)
  if (isSandbox(value)) return value
  const advice =
    'Restore it from a backup, or delete it: the account stays, and "npx wattledger keys create" creates new keys'
  throw new Failure('sandbox_unreadable', `${file} is damaged. ${advice}.`)
}
