import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { node20First } from '../../support/clients/node-20.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const run = promisify(execFile)

/** Commands of a page and the expected part of their output, by name. `setup` precedes all others. */
type Page = {
  readonly path: string
  readonly setup: string
  readonly commands: ReadonlyMap<string, string>
  readonly outputs: ReadonlyMap<string, string>
  /** Blocks of commands without a name. */
  readonly unnamed: number
}

const readBlocks = (path: string): Page => {
  const blocks = [...readFileSync(path, 'utf8').matchAll(/^```(\w+)(?: (\w+))?\n(.*?)^```$/gms)]
  const named = (wanted: string) =>
    new Map(
      blocks.flatMap(([, language, name, text = '']) =>
        language === wanted && name !== undefined && name !== 'setup' ? [[name, text] as const] : [],
      ),
    )
  return {
    path,
    setup: blocks.find(([, language, name]) => language === 'sh' && name === 'setup')?.[3] ?? '',
    commands: named('sh'),
    outputs: named('text'),
    unnamed: blocks.filter(([, language, name]) => language === 'sh' && name === undefined).length,
  }
}

/** Pages whose commands another test runs, because they need a service that stops. */
const testedElsewhere = ['docs/operations.md']

/** Pages with commands that run against a service. The commands of a page share one shell, in their order. */
const pages = ['README.md', ...globSync('docs/**/*.md', { exclude: testedElsewhere })]
  .map(readBlocks)
  .filter(({ commands }) => commands.size > 0)

/** Users run the commands with the Node of their machine. */
const oldestNode = await node20First()

describe('the pages', () => {
  const system = useSharedSystem()

  it('show the output of each block of commands, and each block of the language sh is run', () => {
    expect(pages.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['README.md', 'docs/quickstart.md', 'docs/tariff-cookbook.md', 'docs/whole-bill.md']),
    )
    for (const { path, commands, outputs } of pages) expect([...outputs.keys()], path).toEqual([...commands.keys()])
    expect(globSync('docs/**/*.md').filter(path => readBlocks(path).unnamed > 0)).toEqual([])
  })

  it.each(pages)('$path prints what it shows', async ({ setup, commands, outputs }) => {
    const { base_url, test_key } = system.sandbox()
    const blocks = [...commands].map(([name, text]) => `echo '— ${name}'\n${text}`)
    const script = `set -e\n${setup}${blocks.join('')}`
    const { stdout, stderr } = await run('sh', ['-c', script], {
      env: { ...process.env, ...oldestNode, URL: base_url, KEY: test_key },
    })
    expect(stderr).toBe('')
    const printed = new Map(
      stdout
        .replaceAll('\r', '')
        .split(/^— /m)
        .map(part => [part.split('\n', 1)[0], part] as const),
    )
    for (const [name, output] of outputs) expect(printed.get(name), name).toContain(output.trimEnd())
  })

  it.each([
    ['docs/quickstart.md', "send '[]'"],
    ['docs/whole-bill.md', "send interval '[]'"],
    ['docs/tariff-cookbook.md', 'record 1 2026-01-15T10:00:00Z 2026-01-15T11:00:00Z'],
    ['docs/costs-and-confidence.md', 'record 1 10:00 11:00 1'],
    ['docs/backfill.md', 'send_part /dev/null'],
  ])('$0 prints a refusal instead of waiting for a batch', async (path, command) => {
    const { setup } = readBlocks(path)
    const script = `${setup}${command} 2>&1 || echo refused`
    const env = { ...process.env, ...oldestNode, URL: system.sandbox().base_url, KEY: 'sk_test_0', LOCATION: 'loc_0' }
    const { stdout } = await run('sh', ['-c', script], { env, timeout: 60_000 })
    expect(stdout).toMatch(/"message":.*refused\n$/s)
  })
})
