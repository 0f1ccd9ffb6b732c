import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { login } from '../../support/system/client.ts'
import { fillDataFolder, startPrepared } from '../../support/system/prepared-folder.ts'
import { runCommand } from '../../support/system/run-command.ts'
import {
  dataFolder,
  launchSystem,
  type RunningSystem,
  removeData,
  startSystem,
} from '../../support/system/running-system.ts'

const folder = dataFolder()
const secretsFile = join(folder, 'secrets.json')
const sandboxFile = join(folder, 'sandbox.json')

const endOf = async (environment: Readonly<Record<string, string>> = {}, args: readonly string[] = [], at = folder) => {
  const launched = launchSystem(at, environment, args)
  const code = await launched.exited
  return { code, output: launched.output(), errors: launched.errors() }
}

/** Return the single line that a refused start prints, without a stack. */
const refusalOf = async (environment: Readonly<Record<string, string>> = {}, at = folder): Promise<string> => {
  const { code, output, errors } = await endOf(environment, [], at)
  expect(code, output).toBe(1)
  expect(output).not.toContain('    at ')
  const lines = errors.split('\n').filter(line => line.startsWith('Wattledger did not start: '))
  expect(lines).toHaveLength(1)
  return lines[0] ?? ''
}

const run = async <T>(
  work: (system: RunningSystem) => Promise<T>,
  environment: Readonly<Record<string, string>> = {},
): Promise<T> => {
  const system = await startSystem(folder, environment)
  try {
    return await work(system)
  } finally {
    expect(await system.stop()).toBe(0)
  }
}

beforeAll(() => fillDataFolder(folder))
afterAll(() => removeData(folder))

describe('a damaged file', () => {
  it.each(['{"secret": "cut', '{"secret": 7}'])('secrets.json with %j stops the start with one line', async content => {
    const before = readFileSync(secretsFile)
    writeFileSync(secretsFile, content)
    expect(await refusalOf()).toContain(`${secretsFile} is damaged. Restore it from a backup`)
    writeFileSync(secretsFile, before)
  })

  it.each(['{"account_id": "acc_', '{}'])('sandbox.json with %j stops the start with one line', async content => {
    const before = readFileSync(sandboxFile)
    writeFileSync(sandboxFile, content)
    expect(await refusalOf()).toContain(`${sandboxFile} is damaged. Restore it from a backup, or delete it`)
    writeFileSync(sandboxFile, before)
  })
})

describe('a folder that was moved to a cluster', () => {
  it.each(['{"time_moved":"2026-11-27T10:00:00.000Z"}', ''])('stops the start: moved.json is %j', async content => {
    const mark = join(folder, 'moved.json')
    writeFileSync(mark, content)
    const time = content === '' ? 'an unknown time' : '2026-11-27T10:00:00.000Z'
    expect(await refusalOf()).toContain(`copied ${folder} to a cluster at ${time}. Start the roles of the cluster.`)
    const command = await runCommand(['account', 'list'], { WATTLEDGER_DATA_DIR: folder })
    expect([command.code, command.err]).toEqual([1, expect.stringContaining(`delete ${mark}`)])
    rmSync(mark)
  })
})

describe('a lost secret', () => {
  it.each(['{}', null])(
    'is never replaced: secrets.json %j stops the start, and the right secret starts again',
    async content => {
      const before = readFileSync(secretsFile)
      if (content === null) rmSync(secretsFile)
      else writeFileSync(secretsFile, content)
      expect(await refusalOf()).toContain(
        'This secret is not the one of the database. Restore secrets.json in the data folder',
      )
      expect(await refusalOf()).toContain('This secret is not the one of the database.')
      writeFileSync(secretsFile, before)
      await run(async ({ sandbox }) => expect((await (await login(sandbox)).send('GET', '/account')).status).toBe(200))
    },
  )

  it('stops the start also if only the key of the providers is lost', async () => {
    const before = readFileSync(secretsFile, 'utf8')
    const { credentials_key: _, ...rest } = JSON.parse(before) as Record<string, string>
    writeFileSync(secretsFile, JSON.stringify(rest))
    expect(await refusalOf()).toContain('This credentials key is not the one of the database.')
    writeFileSync(secretsFile, before)
  })

  it('stops the start for an older database without a fingerprint, and the right secret is accepted', async () => {
    const before = readFileSync(secretsFile)
    await run(async () => {
      const address = await findEmbeddedServer(folder)
      if (address === null || 'url' in address) throw new Error('no server runs')
      const client = new pg.Client(address)
      await client.connect()
      await client.query('delete from secret_fingerprints')
      await client.end()
    })
    rmSync(secretsFile)
    expect(await refusalOf()).toContain('This secret is not the one of the database.')
    writeFileSync(secretsFile, before)
    await run(async ({ sandbox }) => expect((await (await login(sandbox)).send('GET', '/account')).status).toBe(200))
    rmSync(secretsFile)
    expect(await refusalOf()).toContain('This secret is not the one of the database.')
    writeFileSync(secretsFile, before)
  })
})

describe('an unusable data folder', () => {
  it('stops the start with one line if its path contains a file', async () => {
    const file = join(folder, '..', 'a-file')
    writeFileSync(file, '')
    expect(await refusalOf({}, join(file, 'data'))).toContain(
      `Cannot use ${join(file, 'data')}: a folder of the path is a file`,
    )
    expect(await refusalOf({}, file)).toContain(`Cannot use ${file}: `)
  })

  it('stops the start and a command with one line if its place accepts no folders', async () => {
    expect(await refusalOf({}, '/proc/data')).toContain('Cannot use /proc/data: ')
    const { code, err } = await runCommand(['account', 'list'], { WATTLEDGER_DATA_DIR: '/proc/data' })
    expect(code).not.toBe(0)
    expect(err).toContain('/proc/data')
  })

  it('stops the start with one line if it is read-only', async ({ skip }) => {
    const path = join(folder, '..', 'read-only')
    mkdirSync(path, { recursive: true })
    if (process.getuid?.() !== 0) chmodSync(path, 0o555)
    else {
      // Root may write despite the file mode: only a read-only mount refuses.
      chownSync(path, 0, 0)
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', path], { stdio: 'ignore' })
      } catch {
        skip('this machine does not permit mounts')
      }
    }
    try {
      expect(await refusalOf({}, path)).toMatch(
        /Cannot use \S+: (the file system is read-only|this user has no permission)/,
      )
    } finally {
      if (process.getuid?.() === 0) execFileSync('umount', [path])
    }
  })
})

describe('the default port of the metrics', () => {
  it('is replaced by a free port if it is taken, and the start reports it', async () => {
    const taken = createServer()
    await new Promise<void>(resolve => taken.listen(9464, '127.0.0.1', resolve).once('error', () => resolve()))
    const launched = launchSystem(folder, { WATTLEDGER_METRICS_PORT: '' })
    try {
      await launched.ready()
      const port = /Metrics port 9464 is in use\. Metrics are on port (\d+)/.exec(launched.output())?.[1]
      expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200)
    } finally {
      launched.process.kill('SIGTERM')
      expect(await launched.exited).toBe(0)
      taken.close()
    }
  })
})

describe('the default rate limit', () => {
  it('allows 1,000 requests at once for reads and changes, and does not limit metering', async () => {
    await using system = await startPrepared(join(folder, 'limited'), { WATTLEDGER_RATE_LIMIT: '' })
    const { base_url: base, test_key: key } = system.sandbox
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const limitOf = async (method: string, path: string, body: string | null): Promise<string | null> =>
      (await fetch(`${base}${path}`, { method, headers, body })).headers.get('ratelimit-limit')
    expect(await limitOf('GET', '/account', null)).toBe('1000')
    expect(await limitOf('POST', '/customers', '{}')).toBe('1000')
    expect(await limitOf('PUT', '/meters/interval', '[{}]')).toBeNull()
  })
})

describe('the options of a start', () => {
  it('--version prints only the version', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
      readonly version: string
    }
    expect(await endOf({}, ['--version'])).toMatchObject({ code: 0, output: `${version}\n` })
  })

  it('--help prints the default of each setting with a default', async () => {
    const { output } = await endOf({}, ['--help'])
    expect(output).toMatch(/WATTLEDGER_PORT .*Default: 8080\./)
    expect(output).toMatch(/WATTLEDGER_LOG_RETENTION_HOURS .*Default: 168\./)
    expect(output).toMatch(/WATTLEDGER_LOG_LEVEL .*Default: info\./)
    expect(output).toMatch(/WATTLEDGER_SECRET .*Default: /)
  })
})
