import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findNode20 } from '../../support/clients/node-20.ts'

const page = readFileSync('docs/webhooks.md', 'utf8')
const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
const body = '{"type":"location.update","data":{"display_name":"Köln"}}'
const now = Math.floor(Date.now() / 1000)

const sign = (id: string, at: number, text: string, with_ = secret): string => {
  const key = Buffer.from(with_.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${at}.${text}`).digest('base64')}`
}

const node = (await findNode20()) ?? process.execPath

/** Programs of the page by language, with their file name and the command that runs the file. */
const languages = [
  { language: 'js', file: 'verify.mjs', run: [node], probe: [node, '--version'] },
  { language: 'python', file: 'verify.py', run: ['python3'], probe: ['python3', '--version'] },
  { language: 'go', file: 'verify.go', run: ['go', 'run'], probe: ['go', 'version'] },
  {
    language: 'java',
    file: 'Verify.java',
    run: ['java'],
    probe: ['java', '--add-modules', 'jdk.compiler', '--version'],
  },
] as const

const isInstalled = ([command, ...args]: readonly string[]): boolean =>
  spawnSync(command ?? '', args, { stdio: 'ignore' }).status === 0

const programs = new Map(
  [...page.matchAll(/^```(\w+) verify\n(.*?)^```$/gms)].map(([, language = '', text = '']) => [language, text]),
)

describe('the page about webhooks', () => {
  it('has a JavaScript program that can be imported without ending the process', () => {
    const importing = mkdtempSync(join(tmpdir(), 'verify-'))
    writeFileSync(join(importing, 'verify.mjs'), programs.get('js') ?? '')
    const code = "const { verify } = await import('./verify.mjs'); console.log(typeof verify)"
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: importing })
    rmSync(importing, { recursive: true })
    expect([status, String(stdout)]).toEqual([0, 'function\n'])
  })

  it('has a program for each language', () => {
    expect([...programs.keys()]).toEqual(languages.map(({ language }) => language))
  })
})

describe.each(languages)('the program in $language', ({ language, file, run, probe }) => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'wattledger-verify-'))
    writeFileSync(join(folder, file), programs.get(language) ?? '')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const verify = (timestamp: number, signatures: string, text = body, with_ = secret): number | null => {
    const [command, ...args] = [...run, join(folder, file), 'evt_1', String(timestamp), signatures]
    const { status } = spawnSync(command ?? '', args, {
      input: text,
      env: { ...process.env, WEBHOOK_SECRET: with_, GOFLAGS: '-mod=mod' },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    return status
  }

  it.skipIf(!isInstalled(probe))(
    'accepts a delivery, and refuses a changed, an old and a foreign one',
    () => {
      const valid = sign('evt_1', now, body)
      const foreign = sign('evt_1', now, body, `whsec_${Buffer.from('other').toString('base64')}`)
      expect([verify(now, valid), verify(now, `${foreign} ${valid}`)]).toEqual([0, 0])
      expect([verify(now, valid, `${body} `), verify(now, foreign), verify(now, 'v1,')]).toEqual([1, 1, 1])
      expect(verify(now - 600, sign('evt_1', now - 600, body))).toBe(1)
    },
    120_000,
  )

  it.skipIf(!isInstalled(probe)).each(['', 'whsec_', `whsec_${Buffer.alloc(15).toString('base64')}`])(
    'refuses a forged delivery with the incomplete secret "%s"',
    incomplete => {
      expect(verify(now, sign('evt_1', now, body, incomplete), body, incomplete)).toBe(1)
    },
    120_000,
  )
})
