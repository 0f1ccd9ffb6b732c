#!/usr/bin/env node
// Command line: installs missing packages, then runs services/command-line.mjs with the packaged Node.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { install } from './install.mjs'

await install({ omitDev: true })
const node = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
const program = fileURLToPath(new URL('../services/command-line.mjs', import.meta.url))
const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)))
