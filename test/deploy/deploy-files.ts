import { globSync, readFileSync } from 'node:fs'
import { parse, parseAllDocuments } from 'yaml'

export type Condition = 'service_started' | 'service_healthy' | 'service_completed_successfully'

/** A service of the compose file, as far as the tests look at it. */
export type Service = {
  readonly image: string
  readonly build?: unknown
  readonly command?: string | readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: Condition }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly deploy?: { readonly replicas?: number }
  readonly restart?: string
  readonly stop_grace_period?: string
  readonly mem_limit?: string
  readonly read_only?: boolean
}

export type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

export const read = (path: string): string => readFileSync(path, 'utf8')

/**
 * The text of the compose file with its variables filled in, as Docker does it.
 * Throws for a required one that is missing.
 */
export const interpolate = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replaceAll(
    /\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, rest: string | undefined) => {
      const value = variables[name] ?? ''
      if (value !== '') return value
      if (kind === '-') return rest ?? ''
      throw new Error(`${name} is not set: ${rest ?? ''}`)
    },
  )

export const composeText = read('deploy/compose.yaml')

export const readCompose = (text = composeText): Compose => parse(text, { merge: true })

/** Values for everything that the compose file asks for. */
export const givenSecrets: Readonly<Record<string, string>> = {
  WATTLEDGER_SECRET: 'a'.repeat(64),
  WATTLEDGER_OPERATOR_KEY: 'b'.repeat(64),
  WATTLEDGER_CREDENTIALS_KEY: 'c'.repeat(64),
  POSTGRES_PASSWORD: 'd'.repeat(64),
  CLICKHOUSE_PASSWORD: 'e'.repeat(64),
  GRAFANA_PASSWORD: 'f'.repeat(64),
}

type Container = {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly command?: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean; readonly allowPrivilegeEscalation: boolean }
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } }
} & Partial<Record<ProbeName, { readonly httpGet: { readonly path: string; readonly port: string } }>>

export type ProbeName = 'startupProbe' | 'readinessProbe' | 'livenessProbe'

export type Labels = Readonly<Record<string, string>>

export type PodSpec = {
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext: { readonly runAsNonRoot: boolean; readonly runAsUser: number }
  readonly containers: readonly Container[]
  readonly volumes: readonly { readonly name: string }[]
}

/** An object of the cluster; only the parts of its kind are there. */
export type Manifest = {
  readonly file: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Labels
  readonly stringData?: Labels
  readonly images?: readonly { readonly name: string; readonly newTag: string }[]
  readonly resources?: readonly string[]
  readonly spec: Spec
}

export type Spec = {
  readonly replicas?: number
  readonly minAvailable?: number
  readonly maxUnavailable?: number
  readonly minReplicas?: number
  readonly maxReplicaCount?: number
  readonly selector: Labels & { readonly matchLabels?: Labels }
  readonly scaleTargetRef: { readonly name: string }
  readonly ports?: readonly { readonly port: number; readonly targetPort: string }[]
  readonly triggers?: readonly { readonly metadata: Labels }[]
  readonly rules?: readonly { readonly http: { readonly paths: readonly IngressPath[] } }[]
  readonly template: {
    readonly metadata: { readonly labels: Labels; readonly annotations?: Labels }
    readonly spec: PodSpec
  }
}

export type IngressPath = { readonly path: string; readonly backend: { readonly service: { readonly name: string } } }

/** Every object of the manifests, in the order of the files. */
export const readManifests = (): readonly Manifest[] =>
  globSync('deploy/kubernetes/**/*.yaml')
    .sort()
    .flatMap(file =>
      parseAllDocuments(read(file)).map(document => {
        if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join(', ')}`)
        return { ...(document.toJS() as Manifest), file }
      }),
    )

type Package = { readonly version: string; readonly optionalDependencies: Labels; readonly scripts: Labels }

export const packageFile: Package = JSON.parse(read('package.json'))

/** Max drain time of a process in seconds, read from its source. */
export const drainSeconds = (): number => {
  const [, ms = ''] = /^const drainMs = ([\d_]+)$/m.exec(read('services/service.ts')) ?? []
  if (ms === '') throw new Error('services/service.ts does not say how long it drains')
  return Number(ms.replaceAll('_', '')) / 1000
}
