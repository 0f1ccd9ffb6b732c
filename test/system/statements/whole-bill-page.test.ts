import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { useSharedSystem } from '../../support/system/use-system.ts'

const run = promisify(execFile)

const page = readFileSync(new URL('../../../docs/whole-bill.md', import.meta.url), 'utf8')

/** Return the texts of the fenced blocks of a language, by the name behind the language. */
const blocks = (language: string): ReadonlyMap<string, string> =>
  new Map(
    [...page.matchAll(new RegExp(`^\`\`\`${language} (\\w+)\n(.*?)^\`\`\`$`, 'gms'))].map(
      ([, name = '', text = '']) => [name, text],
    ),
  )

const [commands, answers] = [blocks('sh'), blocks('text')]
const examples = [...commands.keys()].filter(name => name !== 'setup')

describe('the page of whole bills', () => {
  const system = useSharedSystem()

  it('shows the answer of each example', () => {
    expect(examples).toHaveLength(6)
    expect([...answers.keys()]).toEqual(examples)
  })

  it.each(examples)('%s: the commands print the bill of the page', async name => {
    const { base_url, test_key } = system.sandbox()
    const script = `set -e\nPATH="${process.execPath.replace(/\/node$/, '')}:$PATH"\n${commands.get('setup')}${commands.get(name)}`
    const { stdout, stderr } = await run('sh', ['-c', script], {
      env: { ...process.env, URL: base_url, KEY: test_key },
    })
    expect(stderr).toBe('')
    expect(stdout.replaceAll('\r', '')).toContain(answers.get(name))
  })
})
