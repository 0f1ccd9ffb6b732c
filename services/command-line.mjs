import { enableCompileCache } from 'node:module'
import './typescript-imports.mjs'

enableCompileCache()
const { runCommandLine } = await import('./command-line/run.ts')
process.exitCode = await runCommandLine(process.argv.slice(2), process.env, {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
})
