import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandsOf } from '../../../services/command-line/command.ts'
import { runCommandLine } from '../../../services/command-line/run.ts'
import { commandSubjects } from '../../../services/commands.ts'
import type { AuditEntry } from '../../../services/domain/registry/audit-entry.ts'
import { readConfig } from '../../../services/platform/config/config.ts'
import { openDatabase } from '../../../services/platform/postgres/database.ts'
import { findEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { readAudit } from '../../../services/platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { openSystem, type System } from '../../../services/system.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'

const commands = commandsOf(commandSubjects)

type Run = { readonly code: number; readonly out: string; readonly err: string }

const run = async (
  folder: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Run> => {
  let out = ''
  let err = ''
  const terminal = {
    out: (text: string) => {
      out += text
    },
    err: (text: string) => {
      err += text
    },
  }
  const code = await runCommandLine(commandSubjects, args, { WATTLEDGER_DATA_DIR: folder, ...more }, terminal)
  return { code, out, err }
}

const runProgram = (folder: string, args: readonly string[]): Promise<Run> =>
  new Promise((resolve, reject) => {
    const program = join(import.meta.dirname, '../../../services/command-line.mjs')
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env['PATH'], WATTLEDGER_DATA_DIR: folder },
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      err += text
    })
    child.once('error', reject)
    child.once('close', code => resolve({ code: code ?? -1, out, err }))
  })

const json = async <T>(folder: string, ...args: readonly string[]): Promise<T> => {
  const { code, out, err } = await run(folder, [...args, '--json'])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`)
  return JSON.parse(out)
}

type Account = { readonly id: string; readonly time_disabled: string | null }
type Key = { readonly id: string; readonly secret: string; readonly time_revoked: string | null }

const auditOf = async (folder: string, accountId: string, liveMode: boolean): Promise<readonly AuditEntry[]> => {
  const address = await findEmbeddedServer(folder)
  if (address === null) throw new Error('no server runs')
  await using database = openDatabase({ address })
  return await withTenant(database, { accountId, liveMode }, transaction => readAudit(transaction, 100))
}

describe('arguments', () => {
  const nowhere = '/nonexistent/wattledger'

  it.each([
    [[], 'Accounts'],
    [['account'], 'account create'],
    [['acount', 'list'], 'Did you mean "account list"?'],
    [['account', 'create'], '--name is missing'],
    [['account', 'create', '--nam', 'A'], 'Did you mean --name?'],
    [['account', 'create', '--name'], '--name requires a value'],
    [['account', 'create', '--name', '--json'], '--name requires a value'],
    [['account', 'create', '--name', 'A', '--name', 'B'], '--name is given twice'],
    [['account', 'create', '--name', ' '], '--name must have 1 to 255 characters'],
    [['account', 'create', '--name', 'A', '--version', '2025'], '2025-09-14, 2024-08-24'],
    [['account', 'create', '--name', 'A', 'B'], 'Unexpected arguments: "B"'],
    [['account', 'list', '--json=1'], '--json does not take a value'],
    [['account', 'set', 'acc_1'], 'At least one setting'],
    [['account', 'set', 'acc_1', '--rate-limit', '0'], 'from 1 to 1000000, or none'],
    [['account', 'set', 'acc_1', '--brand-color', '#7ac943'], '--brand-color must be darker: its contrast'],
    [['account', 'set', 'acc_1', '--logo-url', 'http://a.example/logo'], '--logo-url must begin with https://'],
    [['keys', 'create', 'acc_1', '--mode', 'tset'], '--mode must be one of live, test'],
    [['keys', 'revoke', 'acc_1'], 'KEY_ID is missing'],
    [['keys', 'revoke'], 'ACCOUNT and KEY_ID are missing'],
    [['dead-letters', 'replay'], 'Either ids or --all'],
    [['dead-letters', 'replay', '0-1', '--all'], 'Either ids or --all'],
    [['dead-letters', 'list', '--limit', '0'], 'from 1 to 999999'],
    [
      ['erase', 'loc_1', '--account', 'acc_1', '--mode', 'live'],
      'is not the id of a customer, location, device, user or account',
    ],
    [['doctor', '--account', 'acc_1'], '--account requires --key'],
    [['doctor', '--account', 'acc_1', '--key', 'sk_live_1'], '--key must be a test key'],
  ])('that are invalid exit with code 2, change nothing and give a hint: %j', async (args, hint) => {
    const { code, out, err } = await run(nowhere, args)
    expect({ code, hasHint: `${out}${err}`.includes(hint) }, `${out}${err}`).toEqual({ code: 2, hasHint: true })
  })

  it('of every command are shown by its help', async () => {
    const { out: overview } = await run(nowhere, ['--help'])
    expect(commands.length).toBeGreaterThan(20)
    for (const { name, summary } of commands) {
      const [group = ''] = name.split(' ')
      expect(overview).toMatch(new RegExp(`^ {2}(?:[A-Z][a-z]+)? +${group} `, 'm'))
      const { code, out } = await run(nowhere, [...name.split(' '), '--help'])
      expect([code, out]).toEqual([0, expect.stringContaining(`npx wattledger ${name}`)])
      if (name !== group) expect((await run(nowhere, [group, '--help'])).out).toContain(summary)
    }
  })

  it('of the program fit 24 lines of 80 columns, one of them for the next prompt', async () => {
    const lines = (await run(nowhere, ['--help'])).out.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(23)
    expect(lines.filter(line => line.length > 80)).toEqual([])
  })

  it('may be --version', async () => {
    expect(await run(nowhere, ['--version'])).toEqual({ code: 0, out: '1.0.0\n', err: '' })
  })

  it('with a data folder that has no database fail, and create no database', async () => {
    const folder = makeTestFolder()
    const { code, err } = await run(join(folder, 'data'), ['account', 'list'])
    expect([code, err]).toEqual([1, expect.stringContaining('WATTLEDGER_DATA_DIR')])
    expect(existsSync(join(folder, 'data'))).toBe(false)
    rmSync(folder, { recursive: true })
  })
})

describe('without a service', () => {
  it('a command starts PostgreSQL, stores its change, and stops PostgreSQL', async () => {
    const folder = makeTestFolder()
    const created = await runProgram(folder, [
      'account',
      'create',
      '--name',
      'Ärger & Söhne',
      '--version',
      '2024-08-24',
      '--json',
    ])
    expect(created).toMatchObject({ code: 0, err: '' })
    const account: Account = JSON.parse(created.out)
    expect(account).toMatchObject({
      display_name: 'Ärger & Söhne',
      default_version: '2024-08-24',
      requests_per_second: null,
    })
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false)
    expect(await json<readonly Account[]>(folder, 'account', 'list')).toEqual([account])
    expect(await findEmbeddedServer(folder)).toBeNull()
    rmSync(folder, { recursive: true })
  })
})

describe('with a running service', () => {
  const folder = makeTestFolder()
  let system: System
  beforeAll(async () => {
    const config = readConfig({ WATTLEDGER_DATA_DIR: folder, WATTLEDGER_PORT: '0', WATTLEDGER_METRICS_PORT: '0' })
    system = await openSystem(config, createLogger('error'), () => undefined)
  })
  afterAll(async () => {
    await system[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const logIn = (account: string, secret: string): Promise<Response> =>
    fetch(`${system.baseUrl}/login`, { headers: { Authorization: `Basic ${btoa(`${account}:${secret}`)}` } })

  it('an account is created, changed, disabled and enabled, and the audit log of both modes has each change', async () => {
    const { id } = await json<Account>(folder, 'account', 'create', '--name', 'Acme')
    await json(folder, 'account', 'set', id, '--name', 'Acme Energy', '--rate-limit', '50')
    await json(folder, 'account', 'set', id, '--name', 'Acme Energy')
    const { time_disabled: since } = await json<Account>(folder, 'account', 'disable', id)
    expect(since).not.toBeNull()
    expect(await json(folder, 'account', 'disable', id)).toMatchObject({ time_disabled: since })
    await json(folder, 'account', 'enable', id)
    await json(folder, 'account', 'set', id, '--rate-limit', 'none')
    const shown = {
      id,
      display_name: 'Acme Energy',
      default_version: '2025-09-14',
      requests_per_second: null,
      time_disabled: null,
    }
    expect(await json(folder, 'account', 'show', id)).toMatchObject(shown)
    const actions = ['account.update', 'account.enable', 'account.disable', 'account.update', 'account.create']
    for (const liveMode of [true, false]) {
      const entries = await auditOf(folder, id, liveMode)
      expect(entries.map(({ action }) => action)).toEqual(actions)
      for (const entry of entries) expect(entry).toMatchObject({ actor: 'operator', objectId: id })
    }
    expect(await run(folder, ['account', 'show', 'acc_unknown'])).toMatchObject({ code: 1, out: '' })
  })

  it('the brand of an account is set, shown and removed, each with an audit entry', async () => {
    const { id } = await json<Account>(folder, 'account', 'create', '--name', 'Volt')
    const none = { privacy_url: null, terms_url: null, logo_url: null, brand_color: null }
    expect(await json(folder, 'account', 'show', id)).toMatchObject(none)
    const [privacy, terms, logo] = [
      'https://volt.example/privacy',
      'https://volt.example/terms',
      'https://cdn.volt.example/logo.svg',
    ]
    const all = { privacy_url: privacy, terms_url: terms, logo_url: logo, brand_color: '#0a5c3e' }
    const options = ['--privacy-url', privacy, '--terms-url', terms, '--logo-url', logo, '--brand-color', '#0A5C3E']
    expect(await json(folder, 'account', 'set', id, ...options)).toMatchObject(all)
    expect((await run(folder, ['account', 'show', id])).out).toContain(logo)
    expect(await json(folder, 'account', 'set', id, '--terms-url', 'none')).toMatchObject({ ...all, terms_url: null })
    const [removed, set] = await auditOf(folder, id, true)
    expect(set).toMatchObject({ action: 'account.update', detail: { before: none, after: all } })
    expect(removed).toMatchObject({
      action: 'account.update',
      detail: { before: all, after: { ...all, terms_url: null } },
    })
    expect((await run(folder, ['account', 'set', '--help'])).out).toContain('--privacy-url')
  })

  it('a key logs in until it is revoked, is shown once, and has audit entries in its mode', async () => {
    const { id } = await json<Account>(folder, 'account', 'create', '--name', 'Keys')
    const made = await run(folder, [
      'keys',
      'create',
      id,
      '--mode',
      'test',
      '--scope',
      'metering',
      '--description',
      'für "A"',
    ])
    const secret = /sk_test_[0-9a-f]{48}/.exec(made.out)?.[0] ?? ''
    const login = await logIn(id, secret)
    expect([login.status, await login.json()]).toMatchObject([200, { live_mode: false }])
    const [key] = await json<readonly Key[]>(folder, 'keys', 'list', id)
    expect(key).toMatchObject({ live_mode: false, scope: 'metering', description: 'für "A"', time_revoked: null })
    expect((await run(folder, ['keys', 'list', id])).out).not.toContain(secret)
    const revoked = await json<Key>(folder, 'keys', 'revoke', id, key?.id ?? '')
    expect(await json(folder, 'keys', 'revoke', id, key?.id ?? '')).toEqual(revoked)
    expect((await logIn(id, secret)).status).toBe(401)
    const entries = await auditOf(folder, id, false)
    expect(entries.map(({ action }) => action)).toEqual(['api_key.revoke', 'api_key.create', 'account.create'])
    expect(JSON.stringify(entries)).not.toContain(secret)
    expect(await auditOf(folder, id, true)).toHaveLength(1)
    expect(await run(folder, ['keys', 'revoke', id, 'key_unknown'])).toMatchObject({ code: 1, out: '' })
  })

  it('no key is created with another secret than that of the service', async () => {
    const [account] = await json<readonly Account[]>(folder, 'account', 'list')
    const args = ['keys', 'create', account?.id ?? '', '--mode', 'live']
    const other = { WATTLEDGER_SECRET: 'another secret of thirty-two characters' }
    const { code, out, err } = await run(folder, args, other)
    expect([code, out, err]).toEqual([
      1,
      '',
      expect.stringContaining('set WATTLEDGER_SECRET to the value that the database was used with'),
    ])
  })

  it('an external database changes only by "migrate", and its keys require its own secret', async () => {
    const address = await findEmbeddedServer(folder)
    if (address === null || 'url' in address) throw new Error('no server runs')
    const administrator = new pg.Client(address)
    await administrator.connect()
    await administrator.query('create database bare')
    const settings = {
      WATTLEDGER_POSTGRES_URL: `postgres://${address.user}@localhost/bare?host=${encodeURIComponent(address.host)}`,
    }
    const elsewhere = makeTestFolder()
    try {
      const early = await run(elsewhere, ['account', 'create', '--name', 'A'], settings)
      expect([early.code, early.err]).toEqual([
        1,
        expect.stringMatching(/lacks 0001_accounts.sql, .*"npx wattledger migrate"/),
      ])
      const applied = JSON.parse((await run(elsewhere, ['migrate', '--json'], settings)).out)
      expect(applied.applied[0]).toBe('0001_accounts.sql')
      expect(await run(elsewhere, ['migrate'], settings)).toMatchObject({ code: 0, out: 'The schema is up to date.\n' })
      expect(await run(elsewhere, ['account', 'list'], settings)).toMatchObject({
        code: 0,
        out: 'No accounts yet. Create one with "npx wattledger account create".\n',
      })
      const { id }: Account = JSON.parse(
        (await run(elsewhere, ['account', 'create', '--name', 'A', '--json'], settings)).out,
      )
      const refused = await run(elsewhere, ['keys', 'create', id, '--mode', 'test'], settings)
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('WATTLEDGER_SECRET')])
      expect(existsSync(join(elsewhere, 'secrets.json'))).toBe(false)
    } finally {
      await administrator.query('drop database bare with (force)')
      await administrator.end()
      rmSync(elsewhere, { recursive: true })
    }
  })

  it('the doctor checks a record from submission to cost, and deletes its objects', async () => {
    const { code, out } = await runProgram(folder, ['doctor', '--json'])
    const { ok, steps } = JSON.parse(out) as { ok: boolean; steps: readonly { step: string; ok: boolean }[] }
    expect([code, ok, steps.filter(step => !step.ok)], out).toEqual([0, true, []])
    expect(steps.map(({ step }) => step)).toContain('read its cost')
    const sandbox = system.sandbox
    const login = await logIn(sandbox?.account_id ?? '', sandbox?.test_key ?? '')
    const { bearer_token: token } = (await login.json()) as { readonly bearer_token: string }
    const left = await fetch(`${system.baseUrl}/locations`, { headers: { Authorization: `Bearer ${token}` } })
    expect(await left.json()).toMatchObject({ data: [] })
  })

  it('the doctor stops at the first failed step and gives advice', async () => {
    const silent = await run(folder, ['doctor', '--base-url', 'http://127.0.0.1:9'])
    expect([silent.code, silent.out]).toEqual([1, expect.stringMatching(/✗ reach the service.*\n.*\n.*npm start/)])
    const file = join(folder, 'sandbox.json')
    const sandbox = readFileSync(file, 'utf8')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(sandbox), account_id: 'acc_000000000000000000000000' }))
    const stranger = await run(folder, ['doctor', '--json'])
    writeFileSync(file, sandbox)
    expect(stranger.code).toBe(1)
    expect(JSON.parse(stranger.out).steps.at(-1)).toMatchObject({
      step: 'log in',
      ok: false,
      message: expect.stringContaining('401'),
    })
  })
})
