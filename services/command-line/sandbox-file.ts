import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the service leaves in its data folder for a first caller. */
export type SandboxFile = {
  readonly base_url: string
  readonly account_id: string
  readonly test_key: string
  readonly operator_key: string
}

/** Read the sandbox of a data folder; null where its file is missing. */
export const readSandbox = (dataFolder: string): SandboxFile | null => {
  const file = join(dataFolder, 'sandbox.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as SandboxFile) : null
}
