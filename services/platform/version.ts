import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const packageFile = join(import.meta.dirname, '../../package.json')

/** Version of this program, as `package.json` names it. */
export const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { readonly version: string }
