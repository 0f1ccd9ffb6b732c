import { enableCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import './typescript-imports.mjs'

enableCompileCache()
const [{ runCommandLine }, { commandSubjects }] = await Promise.all([
  import('./command-line/run.ts'),
  import('./commands.ts'),
])
// Ctrl-C and the end of the input answer with an empty line.
const ask = question =>
  new Promise(resolve => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    terminal.once('close', () => resolve(''))
    terminal.question(question, answer => {
      resolve(answer)
      terminal.close()
    })
  })
process.exitCode = await runCommandLine(commandSubjects, process.argv.slice(2), process.env, {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  ...(process.stdin.isTTY && process.stderr.isTTY ? { ask } : {}),
})
