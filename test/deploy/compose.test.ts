import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { roles } from '../../services/platform/config/config.ts'
import { welcome } from '../../services/sandbox.ts'
import { errorFaults } from '../support/http/error-object.ts'
import { rawSender } from '../support/http/raw-http.ts'
import { givenSecrets } from './deploy-files.ts'
import { openProject, removeImage, skippedWithoutDocker } from './docker.ts'

const run = promisify(execFile)
const buildMs = 900_000
/** The partitions of a killed worker go to another worker after 45 s. */
const takeOverMs = 120_000

type Project = Awaited<ReturnType<typeof openProject>>

describe.skipIf(skippedWithoutDocker('compose') !== null)('docker compose', () => {
  const config = (variables: Readonly<Record<string, string>>) =>
    run('docker', ['compose', '-f', 'deploy/compose.yaml', '--env-file', '/dev/null', 'config', '-q'], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables },
    })

  it('accepts the compose file', async () => {
    expect((await config(givenSecrets)).stderr).toBe('')
  })

  it('refuses the compose file without a secret, and names the secret', async () => {
    await expect(config({ ...givenSecrets, WATTLEDGER_SECRET: '' })).rejects.toThrow('WATTLEDGER_SECRET')
  })
})

/** The requests that a newcomer pastes, as the program prints them. */
const pasted = (url: string, sandbox: Sandbox): string => {
  const system = { baseUrl: url, metricsUrl: '', sandbox, isFirstStart: true }
  return welcome(system, '', 0).split('terminal:\n')[1] ?? ''
}

const until = async <T>(read: () => Promise<T>, holds: (value: T) => boolean, limitMs: number): Promise<T> => {
  for (const end = performance.now() + limitMs; ; await sleep(500)) {
    const value = await read()
    if (holds(value) || performance.now() > end) return value
  }
}

describe.skipIf(skippedWithoutDocker('engine') !== null)(
  'the containers of the compose file',
  { timeout: takeOverMs + 60_000 },
  () => {
    let project: Project
    let sandbox: Sandbox
    let headers: Readonly<Record<string, string>>

    beforeAll(async () => {
      project = await openProject()
      await project.compose('up', '-d', '--build', '--wait', '--wait-timeout', '600')
      sandbox = JSON.parse(await project.compose('exec', '-T', 'query-service', 'cat', '/data/sandbox.json'))
      const basic = Buffer.from(`${sandbox.account_id}:${sandbox.test_key}`).toString('base64')
      const login = await fetch(`${project.url}/login`, { headers: { Authorization: `Basic ${basic}` } })
      const { bearer_token: token } = (await login.json()) as { bearer_token: string }
      headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    }, buildMs)
    afterAll(() => project?.[Symbol.asyncDispose](), 120_000)

    const ask = async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(project.url + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return (await answer.json()) as Readonly<Record<string, unknown>>
    }

    const stored = async (batch: unknown, limitMs: number): Promise<unknown> => {
      const read = () => ask('GET', `/meters/batch?batch_id=${batch}`)
      return (await until(read, receipt => receipt['records_processed'] === 1, limitMs))['records_processed']
    }

    it('answers the pasted requests with the cost of the day', async () => {
      const { stdout } = await run('bash', ['-c', pasted(project.url, sandbox)])
      expect(stdout).toContain('"records_accepted":1')
      // The record: 3.7 × 0.32 + 3.7 × 0.21 = 1.961. The one costed at once: 5.5 × 0.21 + 5.5 × 0.32 = 2.915.
      expect(stdout).toContain('"cost":{"value":2.915,')
      const [, location] = /^(loc_\w+)$/m.exec(stdout) ?? []
      const span = { start_time: '2026-01-15T00:00:00+01:00', end_time: '2026-01-16T00:00:00+01:00' }
      const day = await until(
        async () => JSON.stringify(await ask('POST', `/costs/interval/${location}`, span)),
        text => text.includes('"value":4.876'),
        30_000,
      )
      expect(day).toContain('"cost":{"value":4.876,')
    })

    it('knows paths with a trailing slash, and refuses a body over the limit of nginx with an error object', async () => {
      expect((await ask('PUT', '/meters/interval/', []))['code']).toBe('body_invalid')
      const sender = rawSender(project.url, 1)
      const large = { method: 'PUT', path: '/meters/interval', headers: { 'content-length': '30000000' } }
      const refused = await sender.send(large)
      expect([refused.status, errorFaults(refused)]).toEqual([413, []])
      sender.close()
    })

    it('passes the checks of the doctor in a container', async () => {
      const target = ['--base-url', 'http://front:8080', '--account', sandbox.account_id, '--key', sandbox.test_key]
      expect(await project.compose('exec', '-T', 'query-service', 'wattledger', 'doctor', ...target)).toContain(
        'All checks passed',
      )
    })

    it('is monitored by Prometheus, each process of each role', async () => {
      const up = async (): Promise<readonly string[]> => {
        const answer = await (await fetch(`${project.prometheusUrl}/api/v1/targets?state=active`)).json()
        const { data } = answer as { data: { activeTargets: { health: string; labels: { job: string } }[] } }
        return data.activeTargets.filter(({ health }) => health === 'up').map(({ labels }) => labels.job)
      }
      const expected = [...roles, 'cost-worker'].sort()
      expect([...(await until(up, list => list.length >= expected.length, 60_000))].sort()).toEqual(expected)
    })

    it('stores accepted records after a worker is killed, and is complete after a restart', async () => {
      const [id = ''] = (await project.compose('ps', '-q', 'cost-worker')).trim().split('\n')
      await run('docker', ['kill', '--signal', 'KILL', id])
      const location = await ask('POST', '/locations', { postal_address: { city: 'Berlin', country_code: 'DE' } })
      const record = {
        location_id: location['id'],
        units: 'KWH',
        value: 1,
        start_time: '2026-01-15T10:00:00Z',
        end_time: '2026-01-15T11:00:00Z',
      }
      const batch = await ask('PUT', '/meters/interval', [record])
      expect(await stored(batch['id'], takeOverMs)).toBe(1)
      expect((await fetch(`${project.url}/health/live`)).status).toBe(200)
      expect((await fetch(`${project.url}/health/ready`)).status).toBe(200)
      await project.compose('up', '-d', '--wait')
      const states = (await project.compose('ps', '--format', '{{.Name}} {{.Health}}', 'cost-worker'))
        .trim()
        .split('\n')
      expect(states.map(line => line.split(' ')[1])).toEqual(['healthy', 'healthy'])
    })

    it('has jobs that change nothing the second time', async () => {
      expect(await project.compose('run', '--rm', '-T', 'migrate')).toContain('The schema is up to date.')
      expect(await project.compose('run', '--rm', '-T', 'topics')).toContain('The topics match the plan.')
    })

    it('stops within the grace period, with exit code 0', async () => {
      await project.compose('stop', 'ingest-gateway', 'query-service', 'webhook-worker')
      const ids = (await project.compose('ps', '-aq', 'ingest-gateway', 'query-service', 'webhook-worker'))
        .trim()
        .split('\n')
      const { stdout } = await run('docker', ['inspect', '--format', '{{.State.ExitCode}}', ...ids])
      expect(stdout.trim().split('\n')).toEqual(['0', '0', '0'])
    })
  },
)

describe.skipIf(skippedWithoutDocker('engine') !== null)('the image with embedded stores', { timeout: buildMs }, () => {
  it('runs with one command and a volume, which keeps its data', async () => {
    const name = `wattledger-embedded-${process.pid}`
    const docker = async (...words: readonly string[]): Promise<string> => (await run('docker', words)).stdout.trim()
    const start = () => docker('run', '-d', '--name', name, '-p', '127.0.0.1::8080', '-v', `${name}:/data`, name)
    const ready = async (): Promise<void> => {
      const url = `http://${(await docker('port', name, '8080')).split('\n')[0]}/health/ready`
      await until(
        () =>
          fetch(url)
            .then(({ ok }) => ok)
            .catch(() => false),
        ok => ok,
        takeOverMs,
      )
      expect((await fetch(url)).status).toBe(200)
    }
    const keys = () => docker('exec', name, 'cat', '/data/sandbox.json')
    try {
      await docker('build', '-f', 'deploy/Dockerfile', '--target', 'embedded', '-t', name, '.')
      await start()
      await ready()
      const first = await keys()
      expect(JSON.parse(first).base_url).toBe('http://127.0.0.1:8080')
      expect(await docker('logs', name)).not.toContain('0.0.0.0')
      await docker('rm', '-f', name)
      await start()
      await ready()
      expect(await keys()).toBe(first)
    } finally {
      await docker('rm', '--force', '--volumes', name)
      await docker('volume', 'rm', '--force', name)
      await removeImage(name)
    }
  })
})
