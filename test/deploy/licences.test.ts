import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

type Entry = { readonly name?: string; readonly license?: string; readonly dev?: boolean }

/** Packages that build a client. They are never installed with the product. */
const clientLock: { readonly packages: Readonly<Record<string, Entry>> } = JSON.parse(
  readFileSync('clients/typescript/package-lock.json', 'utf8'),
)

const lock: { readonly packages: Readonly<Record<string, Entry>> } = JSON.parse(
  readFileSync('package-lock.json', 'utf8'),
)

/** Permissive licences: the only duty is to keep their text. */
const permissive = new Set(['Apache-2.0', 'MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'CC0-1.0', 'Unlicense'])

/** Packages with another licence or without one in the lock file, with the reason why they are accepted. */
const accepted: readonly (readonly [name: RegExp, licence: string | undefined, reason: string])[] = [
  [/^argparse$/, 'PSF-2.0', 'the permissive licence of Python; date-holidays reads its data with it'],
  [/^argparse$/, 'Python-2.0', 'an older version of argparse, with which a generator of a client reads YAML'],
  [/^date-holidays$/, '(ISC AND CC-BY-3.0)', 'code under ISC; NOTICE names the data'],
  [/^@chdb\/lib-/, undefined, 'the engine of chdb, Apache-2.0; npm has no entry of this platform in the lock file'],
  [/^axe-core$/, 'MPL-2.0', 'checks pages for accessibility, unchanged, used in tests only'],
  [/^lightningcss/, 'MPL-2.0', 'tool of vitest, unchanged, used in tests only'],
]

/** Return the faults of a lock file's licences, one line each. */
const licenceFaults = (packages: Readonly<Record<string, Entry>>): readonly string[] =>
  Object.entries(packages).flatMap(([path, { license, dev = false }]) => {
    if (path === '') return []
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const terms = license?.replace(/^\((.*)\)$/, '$1').split(' OR ') ?? []
    if (terms.some(term => permissive.has(term))) return []
    const exception = accepted.find(([pattern, licence]) => pattern.test(name) && licence === license)
    if (exception !== undefined && (dev || license !== 'MPL-2.0')) return []
    return [`${name}: ${license ?? 'no licence'}`]
  })

describe('licences', () => {
  it('of all packages are permissive, except the named ones', () => {
    expect(Object.keys(lock.packages).length).toBeGreaterThan(200)
    expect(licenceFaults(lock.packages)).toEqual([])
  })

  it('of the packages that build the TypeScript client are permissive, and the client itself has none', () => {
    expect(Object.keys(clientLock.packages).length).toBeGreaterThan(20)
    expect(licenceFaults(clientLock.packages)).toEqual([])
    expect(Object.values(clientLock.packages).filter(({ dev = false, name }) => !dev && name === undefined)).toEqual([])
  })

  it('have no exception without a package', () => {
    const names = Object.keys(lock.packages).map(path => path.split('node_modules/').at(-1) ?? '')
    expect(accepted.filter(([pattern]) => !names.some(name => pattern.test(name)))).toEqual([])
  })

  it.each([
    ['GPL-3.0', false],
    ['(MIT AND GPL-2.0)', true],
    ['SSPL-1.0', true],
    [undefined, false],
  ] as const)('are refused if they are %s', (license, dev) => {
    const entry = license === undefined ? { dev } : { license, dev }
    expect(licenceFaults({ 'node_modules/left-pad': entry })).toHaveLength(1)
  })

  it('are refused if a package that is installed with the product has the licence of a test tool', () => {
    expect(licenceFaults({ 'node_modules/lightningcss': { license: 'MPL-2.0' } })).toEqual(['lightningcss: MPL-2.0'])
  })

  it.each(['MIT', '(MIT OR GPL-3.0)', 'MIT OR Apache-2.0'])('are accepted if they are %s', license => {
    expect(licenceFaults({ 'node_modules/left-pad': { license } })).toEqual([])
  })
})

describe('the product', () => {
  it('has the licence that package.json, LICENSE and NOTICE name', () => {
    const { license, version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect([license, version]).toEqual(['Apache-2.0', '1.0.0'])
    expect(readFileSync('LICENSE', 'utf8')).toMatch(/Apache License\s+Version 2\.0, January 2004/)
    expect(readFileSync('NOTICE', 'utf8')).toContain('Apache License, Version 2.0')
    expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(`\n## ${version} (`)
  })

  it.each(['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'])('has %s', path => {
    expect(existsSync(path)).toBe(true)
  })
})
