import { enableCompileCache } from 'node:module'
import { createInterface } from 'node:readline/promises'
import './typescript-imports.mjs'

enableCompileCache()
const { runCommandLine } = await import('./command-line/run.ts')
const ask = async question => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}
process.exitCode = await runCommandLine(process.argv.slice(2), process.env, {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  ...(process.stdin.isTTY && process.stderr.isTTY ? { ask } : {}),
})
