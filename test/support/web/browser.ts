import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const executablePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map(folder => join(folder, 'chromium'))
  .find(isExecutable)

if (executablePath === undefined) console.warn('There is no chromium in PATH. Browser tests are skipped.')

/** True if this machine has a browser. Browser tests are skipped without it. */
export const hasBrowser = executablePath !== undefined

/** Start the machine's Chromium. Throws if there is none. */
export const launchBrowser = (): Promise<Browser> => {
  if (executablePath === undefined) throw new Error('There is no chromium in PATH.')
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
