import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { topicsCommand } from '../../services/command-line/commands/topics-command.ts'
import { operations } from '../../services/operations.ts'
import { environment, roles } from '../../services/platform/config/config.ts'
import { healthRoutes } from '../../services/platform/http/static-routes.ts'
import { topics } from '../../services/platform/log/log.ts'
import {
  drainSeconds,
  type Labels,
  type Manifest,
  type ProbeName,
  packageFile,
  read,
  readManifests,
} from './deploy-files.ts'
import { formsOf, gatewayOperations, pathsOf } from './gateway-paths.ts'

const manifests = readManifests()
const ofKind = (kind: string): readonly Manifest[] => manifests.filter(one => one.kind === kind)
const deployments = ofKind('Deployment')
const jobs = ofKind('Job')
const probes: readonly ProbeName[] = ['startupProbe', 'readinessProbe', 'livenessProbe']

const selects = (selector: Labels | undefined, labels: Labels): boolean =>
  selector !== undefined &&
  Object.keys(selector).length > 0 &&
  Object.entries(selector).every(([name, value]) => labels[name] === value)

const selectedBy = (selector: Labels | undefined): readonly string[] =>
  [...deployments, ...jobs]
    .filter(({ spec }) => selects(selector, spec.template.metadata.labels))
    .map(({ metadata }) => metadata.name)

const containerOf = ({ spec }: Manifest) => {
  const [container] = spec.template.spec.containers
  if (container === undefined) throw new Error('there is no container')
  return container
}

/** List the jobs that commands for a new version do not delete, create and await, in this order and before the roles. */
const upgradeFaults = (commands: string): readonly string[] => {
  const lines = commands.split('\n').map(line => line.split('#', 1)[0]?.trimEnd() ?? '')
  const indexOf = (pattern: RegExp): number => lines.findIndex(line => pattern.test(line))
  return jobs
    .map(({ metadata }) => metadata.name)
    .filter(name => {
      const steps = [
        indexOf(new RegExp(`^kubectl -n wattledger delete job .*\\b${name}\\b.* --ignore-not-found$`)),
        indexOf(/^kubectl apply -k deploy\/kubernetes\/jobs$/),
        indexOf(new RegExp(`^kubectl -n wattledger wait --for=condition=complete .*\\bjob/${name}\\b`)),
        indexOf(/^kubectl apply -k deploy\/kubernetes\/roles$/),
      ]
      return steps.includes(-1) || steps.join() !== steps.toSorted((a, b) => a - b).join()
    })
}

describe('the manifests', () => {
  it('run each role of the program, under its name', () => {
    expect(
      deployments
        .map(({ metadata, spec }) => [metadata.name, spec.template.spec.containers.map(({ args }) => args)])
        .sort(),
    ).toEqual([...roles].sort().map(role => [role, [['--roles', role]]]))
  })

  it.each(deployments.map(one => [one.metadata.name, one] as const))(
    '%s: is probed and scraped where it answers',
    (_, one) => {
      const container = containerOf(one)
      const paths = healthRoutes([], []).map(({ path }) => path)
      const requests = probes.map(name => container[name]?.httpGet)
      expect(
        requests.filter(probe => probe === undefined || !paths.includes(probe.path) || probe.port !== 'http'),
      ).toEqual([])
      expect(container.livenessProbe?.httpGet.path).toBe('/health/live')
      const { WATTLEDGER_PORT: port, WATTLEDGER_METRICS_PORT: metricsPort } = environment.parse({})
      expect(container.ports).toEqual([
        { name: 'http', containerPort: port },
        { name: 'metrics', containerPort: metricsPort },
      ])
      expect(one.spec.template.metadata.annotations?.['prometheus.io/port']).toBe(String(metricsPort))
    },
  )

  it.each(deployments.map(one => [one.metadata.name, one] as const))('%s: has time to drain', (_, one) => {
    const [, pause] = containerOf(one).lifecycle?.preStop.exec.command ?? []
    expect(one.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(pause) + drainSeconds())
  })

  it.each([...deployments, ...jobs].map(one => [one.metadata.name, one] as const))(
    '%s: has no rights, and writes to its own folders alone',
    (_, one) => {
      const { securityContext, volumes } = one.spec.template.spec
      const container = containerOf(one)
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(securityContext.runAsUser).toBeGreaterThan(0)
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/data', '/tmp'])
      expect(container.volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name))
    },
  )

  it('allow the eviction of one pod of each role at a time, never of the last one', () => {
    const budgets = ofKind('PodDisruptionBudget')
    expect(budgets.map(({ metadata, spec }) => [metadata.name, selectedBy(spec.selector.matchLabels)]).sort()).toEqual(
      [...roles].sort().map(role => [role, [role]]),
    )
    const minReplicasOf = (role: string): number => {
      const scaler = ofKind('HorizontalPodAutoscaler').find(({ spec }) => spec.scaleTargetRef.name === role)
      return scaler?.spec.minReplicas ?? deployments.find(({ metadata }) => metadata.name === role)?.spec.replicas ?? 1
    }
    for (const { metadata, spec } of budgets) {
      expect(minReplicasOf(metadata.name), metadata.name).toBeGreaterThan(spec.minAvailable ?? 1)
      expect(spec.maxUnavailable ?? 1).toBe(1)
    }
  })

  it('select pods of one role only', () => {
    for (const { metadata, spec } of deployments) expect(selectedBy(spec.selector.matchLabels)).toEqual([metadata.name])
    const found = ofKind('Service').map(({ metadata, spec }) => [metadata.name, selectedBy(spec.selector)])
    expect(found).toEqual(found.map(([name]) => [name, [name]]))
    expect(selectedBy({ 'app.kubernetes.io/component': 'worker' })).toEqual([])
    expect(selectedBy({ 'app.kubernetes.io/name': 'wattledger' }).length).toBeGreaterThan(1)
  })

  it('scale existing deployments', () => {
    const names = deployments.map(({ metadata }) => metadata.name)
    const scalers = [...ofKind('HorizontalPodAutoscaler'), ...ofKind('ScaledObject')]
    expect(scalers.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(
      expect.arrayContaining(['ingest-gateway', 'cost-worker']),
    )
    expect(scalers.filter(({ spec }) => !names.includes(spec.scaleTargetRef.name))).toEqual([])
    const scaled = ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name)
    expect(
      deployments.filter(({ metadata, spec }) => scaled.includes(metadata.name) === (spec.replicas !== undefined)),
    ).toEqual([])
  })

  it('scale workers by the lag of their own group, up to the partitions of the job', () => {
    const [scaler] = ofKind('ScaledObject')
    const [trigger] = scaler?.spec.triggers ?? []
    expect(trigger?.metadata['topic']).toBe('meter.records.v1')
    expect(topics['meter.records.v1'].retainedForGroups).toContain(trigger?.metadata['consumerGroup'])
    const words = jobs.flatMap(one => containerOf(one).command ?? [])
    expect(scaler?.spec.maxReplicaCount).toBe(Number(words[words.indexOf('--partitions') + 1]))
    const config = ofKind('ConfigMap')[0]?.data
    expect(trigger?.metadata['bootstrapServers']).toBe(config?.['WATTLEDGER_KAFKA_BROKERS'])
  })

  it('have jobs with valid commands', () => {
    const words = jobs.map(one => containerOf(one).command ?? [])
    expect(words.map(([program, name]) => [program, name])).toEqual([
      ['wattledger', 'migrate'],
      ['wattledger', 'topics'],
    ])
    const options = words.flat().flatMap(word => (word.startsWith('--') ? [word.slice(2)] : []))
    expect(options.filter(name => !(name in topicsCommand.options))).toEqual([])
  })

  it('have one address: submissions go to the gateways, other requests to the query services', () => {
    const paths = ofKind('Ingress').flatMap(({ spec }) => spec.rules?.flatMap(({ http }) => http.paths) ?? [])
    const role = (path: string): string | undefined =>
      (paths.find(one => one.path === path) ?? paths.find(one => one.path === '/'))?.backend.service.name
    const own = gatewayOperations()
    const ownPaths = formsOf(pathsOf(own))
    expect(paths.map(({ path }) => path).sort()).toEqual([...ownPaths, '/'].sort())
    for (const path of ownPaths) expect(role(path), path).toBe('ingest-gateway')
    for (const path of formsOf(pathsOf(operations.filter(one => !own.includes(one)))))
      expect(role(path), path).toBe('query-service')
  })

  it('are replaced by the commands for a new version: a job cannot change its image', () => {
    const section =
      /\*\*New version\.\*\*[^`]*(?:`[^`\n]+`[^`]*)*```\n([^`]+)```/.exec(read('deploy/README.md'))?.[1] ?? ''
    expect(upgradeFaults(section)).toEqual([])
    expect(upgradeFaults(section.replace('delete job migrate topics', 'delete job migrate'))).toEqual(['topics'])
    expect(upgradeFaults(section.replace(' --ignore-not-found', ''))).toEqual(['migrate', 'topics'])
    expect(upgradeFaults(section.split('\n').slice(1).join('\n'))).toEqual(['migrate', 'topics'])
    expect(upgradeFaults(section.replace(' wait ', ' get '))).toEqual(['migrate', 'topics'])
  })

  it('run the image of this version, set once for each folder', () => {
    const images = [...deployments, ...jobs].map(one => containerOf(one).image)
    expect(new Set(images)).toEqual(new Set(['wattledger']))
    const named = ofKind('Kustomization').flatMap(({ file, images: list = [] }) =>
      list.map(({ newTag }) => [dirname(file), newTag]),
    )
    expect(named).toEqual(['jobs', 'roles'].map(folder => [`deploy/kubernetes/${folder}`, packageFile.version]))
  })
})

/** Reason why the manifests cannot be built here. Null if they can. */
const withoutKubectl = (): string | null => {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore', timeout: 20_000 })
    return null
  } catch {
    process.stderr.write('skipped: putting the manifests together: there is no kubectl on this machine\n')
    return 'no kubectl'
  }
}

describe.skipIf(withoutKubectl() !== null)('kustomize', () => {
  const built = (folder: string): readonly Manifest[] =>
    parseAllDocuments(execFileSync('kubectl', ['kustomize', `deploy/kubernetes/${folder}`], { encoding: 'utf8' })).map(
      one => one.toJS(),
    )

  it.each([
    ['settings', 0],
    ['jobs', 2],
    ['roles', 4],
    ['keda', 4],
  ])('puts %s together', (folder, programs) => {
    const objects = built(folder)
    const images = objects.flatMap(({ kind, spec }) =>
      kind === 'Deployment' || kind === 'Job' ? spec.template.spec.containers : [],
    )
    expect(images.map(({ image }) => image)).toEqual(
      Array.from({ length: programs }, () => `wattledger:${packageFile.version}`),
    )
    expect(objects.some(({ kind }) => kind === 'Secret')).toBe(false)
  })

  it('leaves the number of workers to KEDA', () => {
    const worker = built('keda').find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'cost-worker')
    expect(worker?.spec.selector).toBeDefined()
    expect(worker?.spec.replicas).toBe(undefined)
  })
})
