import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import http from 'node:http'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import {
  dataFolder,
  launchSystem,
  type RunningSystem,
  removeData,
  startSystem,
} from '../../support/system/running-system.ts'

const folder = dataFolder()
const running: RunningSystem[] = []

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningSystem> => {
  const system = await startSystem(folder, environment)
  running.push(system)
  return system
}

beforeAll(() => fillDataFolder(folder))

afterEach(async () => {
  for (const system of running.splice(0)) await system[Symbol.asyncDispose]()
})

afterAll(() => removeData(folder))

/** Launch with arguments and settings that end the process. Returns exit code and output. */
const endOf = async (environment: Readonly<Record<string, string>>, args: readonly string[] = []) => {
  const launched = launchSystem(folder, environment, args)
  const code = await launched.exited
  return { code, output: launched.output(), errors: launched.errors() }
}

/** Return the child processes of a process, with their children. */
const processesOf = (pid: number): readonly number[] => {
  const parents = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) /, '')
          .split(' ')
        return [{ pid: Number(name), parent: Number(fields[1]) }]
      } catch {
        // The process has ended in the meantime.
        return []
      }
    })
  const found = new Set([pid])
  for (let before = 0; before < found.size; ) {
    before = found.size
    for (const one of parents) if (found.has(one.parent)) found.add(one.pid)
  }
  found.delete(pid)
  return [...found]
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Begin a submission: the server has the head and waits for the body. The returned function sends the body and returns
 * the answer.
 */
const begin = async ({ base_url, account_id, test_key }: Sandbox, body: string) => {
  const basic = Buffer.from(`${account_id}:${test_key}`).toString('base64')
  const { bearer_token: token } = (await (
    await fetch(`${base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
  ).json()) as {
    bearer_token: string
  }
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Expect: '100-continue' }
  const request = http.request(`${base_url}/meters/interval`, { method: 'PUT', headers })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  request.flushHeaders()
  await once(request, 'continue')
  return async () => {
    request.end(body)
    const [response] = await answered
    return { status: response.statusCode, body: JSON.parse(await text(response)) as unknown }
  }
}

const record = (locationId: string, reference: string) => ({
  location_id: locationId,
  record_reference_id: reference,
  units: 'KWH',
  value: 1,
  start_time: '2025-05-05T10:00:00Z',
  end_time: '2025-05-05T11:00:00Z',
})

describe('a second process on the same data', () => {
  it('is refused with the reason and exit code 1, and the first process continues', async () => {
    const first = await start()
    const second = await endOf({})
    expect(second).toMatchObject({ code: 1, output: expect.stringContaining(`${folder} is in use by another process`) })
    const client = await login(first.sandbox)
    expect((await client.send('GET', '/account')).status).toBe(200)
  })
})

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', signal => {
  it('answers a running request, ends all processes, and exits with code 0', { timeout: 60_000 }, async () => {
    const system = await start()
    const client = await login(system.sandbox)
    const { id } = (await client.ask('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' })) as { id: string }
    const children = processesOf(system.process.pid ?? 0)
    expect(children.length).toBeGreaterThan(0)
    const records = Array.from({ length: 5_000 }, (_, index) => record(id, `${signal}-${index}`))
    const finish = await begin(system.sandbox, JSON.stringify(records))
    const stopped = system.stop(signal)
    await expect.poll(() => system.errors()).toContain('"msg":"Service stopping"')
    expect(await finish()).toMatchObject({ status: 200, body: { records_accepted: 5_000 } })
    expect(await stopped).toBe(0)
    await expect.poll(() => children.filter(isAlive)).toEqual([])
    const again = await start()
    const receipt = await (await login(again.sandbox)).submit(records.slice(0, 1))
    expect(receipt).toMatchObject({ records_processed: 1 })
  })
})

describe('a request with the longest wait for the log', () => {
  it('is answered while its process stops, although the roles end at the same time', {
    timeout: 60_000,
  }, async () => {
    const system = await start()
    const client = await login(system.sandbox)
    const { id } = (await client.ask('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' })) as { id: string }
    const finish = await begin(system.sandbox, JSON.stringify([record(id, 'late')]))
    const stopped = system.stop('SIGTERM')
    await expect.poll(() => system.errors()).toContain('"msg":"Service stopping"')
    await sleep(8_000)
    expect(await finish()).toMatchObject({ status: 200, body: { records_accepted: 1 } })
    expect(await stopped).toBe(0)
    const again = await start()
    await expect
      .poll(
        async () =>
          ((await (await login(again.sandbox)).ask('GET', `/meters/records?location_id=${id}`)) as { data: unknown[] })
            .data.length,
      )
      .toBe(1)
  })
})

describe('Ctrl-C under npm', () => {
  it('arrives twice, from the terminal and from npm, and still drains the service', async () => {
    const system = await start()
    const children = processesOf(system.process.pid ?? 0)
    const stopped = system.stop('SIGINT')
    await sleep(10)
    system.process.kill('SIGINT')
    expect(await stopped).toBe(0)
    await expect.poll(() => children.filter(isAlive)).toEqual([])
  })
})

describe('a start', () => {
  it('makes the sandbox file readable by its owner only, and writes no secret to the log', async () => {
    const system = await start({ WATTLEDGER_LOG_LEVEL: 'debug' })
    const { sandbox } = system
    for (const file of ['sandbox.json', 'secrets.json']) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
    const client = await login(sandbox)
    const basic = Buffer.from(`${sandbox.account_id}:${sandbox.test_key}`).toString('base64')
    const answer = await fetch(`${sandbox.base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
    const { bearer_token: token } = (await answer.json()) as { bearer_token: string }
    await client.send('GET', `/customers?wrong=${sandbox.live_key}`)
    await fetch(`${sandbox.base_url}/account`, { headers: { Authorization: `Bearer ${token}x` } })
    await fetch(`${sandbox.base_url}/login`, { headers: { Authorization: `Basic ${basic}x` } })
    await system.stop()
    const { secret } = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as { secret: string }
    for (const one of [sandbox.live_key, sandbox.test_key, sandbox.operator_key, basic, token, secret])
      expect(system.errors()).not.toContain(one)
    // The check must be able to find a line: the log lines exist.
    expect(system.errors()).toContain('"msg":"Service ready"')
  })

  it('on all interfaces, or with a public address, prints and stores an address that users can open', async () => {
    const all = await start({ WATTLEDGER_HOST: '0.0.0.0' })
    expect(all.sandbox.base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(all.output()).toContain(`is ready on ${all.sandbox.base_url} `)
    expect((await fetch(all.metricsUrl)).status).toBe(200)
    expect(all.output()).not.toContain('0.0.0.0')
    await all.stop()
    const proxied = await start({ WATTLEDGER_PUBLIC_URL: 'https://meters.example.com' })
    expect(proxied.sandbox.base_url).toBe('https://meters.example.com')
    expect(proxied.output()).toContain('https://meters.example.com/docs\n')
  })

  it('on port 0 uses a free port and prints it', async () => {
    const { sandbox, metricsUrl } = await start()
    expect(new URL(sandbox.base_url).port).toMatch(/^[1-9]\d+$/)
    expect((await fetch(metricsUrl)).status).toBe(200)
  })

  it('works after a kill, with the data of the killed process', async () => {
    const first = await start()
    const client = await login(first.sandbox)
    const { id } = (await client.ask('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' })) as { id: string }
    await client.ask('PUT', '/meters/interval', [record(id, 'before the kill')])
    await first.kill()
    const second = await login((await start()).sandbox)
    await second.submit([record(id, 'after the kill')])
    const { data } = (await second.ask('GET', `/meters/records?location_id=${id}`)) as { data: readonly unknown[] }
    // Both messages took the same path, so the later one never arrives first.
    expect(data).toHaveLength(2)
  })
})

describe('an impossible start', () => {
  let taken: Server | undefined

  beforeAll(async () => {
    taken = createServer()
    await new Promise<void>(resolve => taken?.listen(0, '127.0.0.1', resolve))
  })

  afterAll(() => {
    taken?.close()
  })

  const portTaken = (): string => {
    const address = taken?.address()
    return typeof address === 'object' && address !== null ? String(address.port) : ''
  }

  it.each(['WATTLEDGER_PORT', 'WATTLEDGER_METRICS_PORT'])('names the taken port and its setting: %s', async name => {
    const ended = await endOf({ [name]: portTaken() })
    expect(ended).toMatchObject({
      code: 1,
      output: expect.stringContaining(`Port ${portTaken()} is in use`),
    })
    expect(ended.output).toContain(name)
    expect(ended.output).not.toContain('    at ')
  })

  it.each([
    ['WATTLEDGER_PROT', '8080', 'WATTLEDGER_PROT: Unknown setting'],
    ['WATTLEDGER_PORT', '80800', 'WATTLEDGER_PORT: '],
    ['WATTLEDGER_LOG_LEVEL', 'loud', 'WATTLEDGER_LOG_LEVEL: '],
    ['WATTLEDGER_SECRET', 'short', 'WATTLEDGER_SECRET: '],
  ])('names an invalid setting: %s=%s', async (name, value, reason) => {
    const ended = await endOf({ [name]: value })
    expect(ended).toMatchObject({ code: 1, output: expect.stringContaining(reason) })
    expect(ended.output).not.toContain('    at ')
  })

  it.each([
    [['--roles', 'cost-worker'], 'one process'],
    [['--roles=ingest-gateway,query-service'], 'one process'],
    [['--roles', 'gateway'], 'Unknown role "gateway". The roles are ingest-gateway, cost-worker, query-service'],
    [['--roles'], 'Unknown arguments "--roles"'],
    [['serve'], 'Unknown arguments "serve"'],
  ])('refuses %j', async (args, reason) => {
    const ended = await endOf({}, args)
    expect(ended).toMatchObject({ code: 1, output: expect.stringContaining(reason) })
    expect(ended.output).not.toContain('    at ')
  })
})

describe('--help', () => {
  it('lists every setting and starts nothing', async () => {
    const { code, output } = await endOf({}, ['--help'])
    expect(code).toBe(0)
    for (const name of ['WATTLEDGER_PORT', 'WATTLEDGER_DATA_DIR', 'WATTLEDGER_LOG_MAX_GIB', '--roles'])
      expect(output).toContain(name)
    expect(output).not.toContain('ready')
  })
})
