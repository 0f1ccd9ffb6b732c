import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const packageFile = join(import.meta.dirname, '../../package.json')

/** Version from `package.json`. */
export const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { readonly version: string }
