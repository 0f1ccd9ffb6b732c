import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { unmountWithin } from '../stores/small-disk.ts'

// Cleans up after a test run, no matter how it ended: ends all its processes, unmounts its disks and removes its folder.
// The run holds the other end of standard input, and the kernel closes it when the run ends.
// This process has its own session, so that Ctrl-C in the terminal does not reach it.
const [folder = ''] = process.argv.slice(2)
const stopMs = 8_000

const read = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** List the processes of the run. Their arguments or their environment contain the folder of the run. */
const left = (): readonly { readonly pid: number; readonly words: string }[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(name => ({ pid: Number(name), words: read(name, 'cmdline'), variables: read(name, 'environ') }))
    .filter(({ words, variables }) => words.includes(folder) || variables.includes(folder))

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended by itself.
  }
}

process.stdin.resume()
await new Promise(resolve => process.stdin.once('close', resolve))
const sockets = left().flatMap(({ words }) => /unix_socket_directories=([^\0]+)/.exec(words)?.[1] ?? [])
// PostgreSQL shuts down at once on SIGINT and gives its shared memory back, and a service drains.
for (const { pid } of left()) signal(pid, 'SIGINT')
for (const deadline = performance.now() + stopMs; left().length > 0 && performance.now() < deadline; ) await sleep(100)
for (const { pid } of left()) signal(pid, 'SIGKILL')
unmountWithin(folder)
for (const path of [folder, ...sockets]) rmSync(path, { recursive: true, force: true, maxRetries: 20 })
