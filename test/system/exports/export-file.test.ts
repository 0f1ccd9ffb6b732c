import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const folder = makeTestFolder()
const period = ['--from', '2026-03-02', '--to', '2026-03-03']

/** Option of Node that runs statements before a program. */
const beforeProgram = (statements: string): readonly string[] => [
  '--import',
  `data:text/javascript,${encodeURIComponent(`import fs from 'node:fs'
  import os from 'node:os'
  import { syncBuiltinESMExports } from 'node:module'
  ${statements}
  syncBuiltinESMExports()`)}`,
]

/** The program ends itself with `kill -9` when it is about to give the written file its name. */
const killAtName = beforeProgram("fs.linkSync = () => process.kill(process.pid, 'SIGKILL')")

/** The program waits for a file before it gives the written file its name. */
const waitAtName = (go: string): string => `const link = fs.linkSync
  fs.linkSync = (from, to) => {
    while (!fs.existsSync(${JSON.stringify(go)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    link(from, to)
  }`

const runProgram = async (args: readonly string[], nodeOptions: readonly string[] = []) => {
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const program = join(import.meta.dirname, '../../../services/command-line.mjs')
  const env = { PATH: process.env['PATH'], WATTLEDGER_DATA_DIR: folder, WATTLEDGER_API_KEY: key }
  const child = spawn(process.execPath, [...nodeOptions, program, ...args, '--base-url', baseUrl], { env })
  let err = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  return await new Promise<{ end: number | string | null; err: string }>(resolve =>
    child.once('close', (code, signal) => resolve({ end: signal ?? code, err })),
  )
}

/** Names of the parts of a file. */
const parts = (file: string): readonly string[] => readdirSync(dirname(file)).filter(name => name.endsWith('.part'))
const manifestPath = (file: string): string => `${file}.manifest.json`
const hashes = (file: string) => [
  createHash('sha256').update(readFileSync(file)).digest('hex'),
  (JSON.parse(readFileSync(manifestPath(file), 'utf8')) as { sha256: string }).sha256,
]

/** Wait until the first program has written the manifest of the file. */
const untilManifest = (file: string) =>
  expect.poll(() => existsSync(manifestPath(file)), { timeout: 30_000, interval: 20 }).toBe(true)

const exportTo = (file: string, words: readonly string[] = ['records', '--format', 'csv']): readonly string[] => [
  ...['export', ...words, ...period, '--out', file],
]

describe('an export that is killed', () => {
  const writers = [
    ['a format of others', ['costs', '--format', 'green-button']],
    ['a table', ['records', '--format', 'csv']],
  ] as const
  it.each(writers)('after the manifest of %s leaves no file, and the next run completes it', async (_, words) => {
    const location = await makeHome(await system.login(), { import: 0.25 })
    const file = join(makeTestFolder(), 'out')
    const args = [...exportTo(file, words), '--location', location]
    expect(await runProgram(args, killAtName)).toEqual({ end: 'SIGKILL', err: '' })
    expect([existsSync(file), parts(file).length]).toEqual([false, 1])
    expect(await runProgram(args)).toEqual({ end: 0, err: '' })
    const [ofFile, ofManifest] = hashes(file)
    expect([parts(file), ofFile]).toEqual([[], ofManifest])
    const written = [readFileSync(file, 'utf8'), readFileSync(manifestPath(file), 'utf8')]
    const again = await runProgram(args, killAtName)
    expect([again.end, again.err]).toEqual([1, expect.stringContaining(`${file} exists.`)])
    expect([readFileSync(file, 'utf8'), readFileSync(manifestPath(file), 'utf8')]).toEqual(written)
  })

  it('by a process whose id this process has now does not block the file', async () => {
    const file = join(makeTestFolder(), 'out')
    // A container begins with the same process ids and name at each start.
    const leftover = beforeProgram(
      `fs.writeFileSync(${JSON.stringify(`${file}.${hostname()}-`)} + process.pid + '.part', 'x')`,
    )
    expect(await runProgram(exportTo(file), leftover)).toEqual({ end: 0, err: '' })
    expect(parts(file)).toEqual([])
  })
})

describe('two exports to one file', () => {
  it('at once: the second is refused at the start, and the first is complete', async () => {
    const file = join(makeTestFolder(), 'out')
    const go = join(makeTestFolder(), 'go')
    const first = runProgram(exportTo(file), beforeProgram(waitAtName(go)))
    await untilManifest(file)
    const second = await runProgram(exportTo(file))
    const [part] = parts(file)
    expect([second.end, second.err]).toEqual([
      1,
      expect.stringMatching(/The process [0-9]+ writes .*out\. Wait for it/),
    ])
    expect(second.err).toContain(`delete ${join(dirname(file), part ?? '')}.`)
    expect(parts(file)).toEqual([part])
    writeFileSync(go, '')
    expect(await first).toEqual({ end: 0, err: '' })
    const [ofFile, ofManifest] = hashes(file)
    expect([parts(file), ofFile]).toEqual([[], ofManifest])
  })

  it('from two computers: one is complete, the other is refused at its end', async () => {
    const file = join(makeTestFolder(), 'out')
    const go = join(makeTestFolder(), 'go')
    const slow = runProgram(exportTo(file), beforeProgram(waitAtName(go)))
    await untilManifest(file)
    // The columns of pieces make the two files different.
    const pieces = ['records', '--format', 'csv', '--pieces']
    const elsewhere = beforeProgram("os.hostname = () => 'elsewhere'")
    expect(await runProgram(exportTo(file, pieces), elsewhere)).toEqual({ end: 0, err: '' })
    const written = [readFileSync(file, 'utf8'), readFileSync(manifestPath(file), 'utf8')]
    writeFileSync(go, '')
    const { end, err } = await slow
    expect([end, err]).toEqual([1, expect.stringContaining(`${file} exists.`)])
    expect([readFileSync(file, 'utf8'), readFileSync(manifestPath(file), 'utf8')]).toEqual(written)
    const [ofFile, ofManifest] = hashes(file)
    expect([parts(file), ofFile]).toEqual([[], ofManifest])
  })

  it('keep a manifest of before if the export fails', async () => {
    const file = join(makeTestFolder(), 'out')
    writeFileSync(manifestPath(file), 'kept')
    const failed = await runProgram([...exportTo(file), '--location', 'loc_0198c0ffee00112233445566'])
    expect([failed.end, failed.err]).toEqual([1, expect.stringContaining('location_not_found')])
    expect([parts(file), readFileSync(manifestPath(file), 'utf8')]).toEqual([[], 'kept'])
  })
})
