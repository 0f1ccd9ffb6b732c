import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../failure.ts'
import { saslMechanisms } from '../log/kafka/kafka-settings.ts'
import { type DistributedSettings, distributedSettings, embeddedStores } from './distributed-settings.ts'
import { type FeedConfig, feedVariables, readFeedConfig } from './feed-config.ts'
import { type OpenIdConfig, openIdVariables, readOpenIdConfig } from './openid-config.ts'

/** Roles of the service. A process runs all or some of them. */
export const roles = ['ingest-gateway', 'cost-worker', 'query-service', 'webhook-worker'] as const
export type Role = (typeof roles)[number]

const port = z.coerce.number().int().min(0).max(65_535)
const wholeNumber = z.coerce.number().int().positive()

const isNetwork = (text: string): boolean => {
  const [address = '', bits = '', ...rest] = text.split('/')
  const family = isIP(address)
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}

const list = z
  .string()
  .default('')
  .transform(text => text.split(',').flatMap(part => (part.trim() === '' ? [] : [part.trim()])))

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, '')

const networks = list.refine(found => found.every(isNetwork), {
  message: 'must be networks such as 10.1.0.0/16,fd00::/8',
})

const formerSecrets = list.refine(found => found.every(({ length }) => length >= 32), {
  message: 'each must have at least 32 characters',
})

/** All environment variables with unit and default. `deploy/env.example` has the same texts. */
export const environment = z.object({
  WATTLEDGER_HOST: z.string().min(1).default('127.0.0.1').describe('IP address or host name to listen on.'),
  WATTLEDGER_PORT: port.default(8080).describe('Port of the API; 0 chooses a free port.'),
  WATTLEDGER_METRICS_PORT: port
    .default(9464)
    .describe(
      'Port of the Prometheus metrics; 0 chooses a free port. With embedded stores, a default port in use is replaced by a free one.',
    ),
  WATTLEDGER_DATA_DIR: z.string().min(1).default('./data').describe('Data folder.'),
  WATTLEDGER_POSTGRES_URL: z
    .string()
    .optional()
    .describe(
      'URL of an external PostgreSQL (postgres://…). Its user owns the tables; see deploy/README.md. Default: embedded.',
    ),
  WATTLEDGER_SECRET: z
    .string()
    .min(32)
    .optional()
    .describe(
      'Secret for signing and hashing, at least 32 characters. Default: created at the first start in the data folder.',
    ),
  WATTLEDGER_FORMER_SECRETS: formerSecrets.describe(
    'Former values of WATTLEDGER_SECRET, separated by commas. Their tokens and keys stay valid.',
  ),
  WATTLEDGER_OPERATOR_KEY: z
    .string()
    .min(24)
    .optional()
    .describe('Operator key, at least 24 characters. Default: created at the first start in the data folder.'),
  WATTLEDGER_CREDENTIALS_KEY: z
    .string()
    .min(32)
    .optional()
    .describe('Encryption key of provider credentials, at least 32 characters. Default: created in the data folder.'),
  WATTLEDGER_FORMER_CREDENTIALS_KEYS: formerSecrets.describe(
    'Former values of WATTLEDGER_CREDENTIALS_KEY, separated by commas. They still decrypt stored credentials.',
  ),
  WATTLEDGER_CONNECT_PATH: z
    .string()
    .regex(/^(\/[A-Za-z0-9._~-]+)+$/, 'must be a path such as /connect')
    .default('/connect')
    .describe('Path of the Connect pages. The path /connect works too.'),
  WATTLEDGER_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .refine(text => isOrigin(text), {
      message: 'must be an address without a path, such as https://meters.example.com',
    })
    .optional()
    .describe('Address of the service in browsers, such as https://meters.example.com. Links for users begin with it.'),
  WATTLEDGER_GATEWAY_URL: z
    .url({ protocol: /^https?$/ })
    .refine(text => isOrigin(text), { message: 'must be an address without a path, such as http://gateway:8080' })
    .optional()
    .describe('Address of the gateways for imports of a console without one. Default: WATTLEDGER_PUBLIC_URL.'),
  WATTLEDGER_CONSOLE_KEY_SIGN_IN: z
    .enum(['on', 'off'])
    .default('on')
    .describe('Sign-in to the console with an API key: on or off.'),
  ...openIdVariables,
  WATTLEDGER_KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,]+:\d+(,[^\s,]+:\d+)*$/, 'must be host:port, separated by commas')
    .optional()
    .describe('Kafka brokers as host:port, separated by commas. Default: embedded log.'),
  WATTLEDGER_KAFKA_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]*$/, 'must be letters, digits, dots, underscores and hyphens')
    .default('')
    .describe('Prefix of the names of topics and consumer groups.'),
  WATTLEDGER_KAFKA_TLS: z
    .enum(['on', 'off'])
    .default('off')
    .describe('TLS connections to the Kafka brokers: on or off.'),
  WATTLEDGER_KAFKA_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('PEM file of the certificate authorities of the Kafka brokers. Default: those of Node.'),
  WATTLEDGER_KAFKA_SASL: z
    .enum(saslMechanisms)
    .optional()
    .describe('SASL mechanism of the Kafka brokers: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Default: none.'),
  WATTLEDGER_KAFKA_USER: z.string().min(1).optional().describe('SASL user of the Kafka brokers.'),
  WATTLEDGER_KAFKA_PASSWORD: z.string().min(1).optional().describe('SASL password of the Kafka brokers.'),
  WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: wholeNumber
    .min(1_000)
    .max(3_600_000)
    .default(45_000)
    .describe('Session timeout of consumers in ms, equal to group.consumer.session.timeout.ms of the brokers.'),
  WATTLEDGER_SCHEMA_REGISTRY_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('URL of a Confluent-compatible schema registry. Default: schema ids from the hash of the schema.'),
  WATTLEDGER_SCHEMA_REGISTRY_USER: z.string().min(1).optional().describe('User of the schema registry.'),
  WATTLEDGER_SCHEMA_REGISTRY_PASSWORD: z.string().min(1).optional().describe('Password of the schema registry.'),
  WATTLEDGER_CLICKHOUSE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('URL of a ClickHouse server, such as https://host:8443. Default: embedded engine.'),
  WATTLEDGER_CLICKHOUSE_USER: z.string().min(1).default('default').describe('User of ClickHouse.'),
  WATTLEDGER_CLICKHOUSE_PASSWORD: z.string().default('').describe('Password of ClickHouse.'),
  WATTLEDGER_CLICKHOUSE_DATABASE: z.string().min(1).default('default').describe('Existing database of ClickHouse.'),
  WATTLEDGER_CLICKHOUSE_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('PEM file of the certificate authorities of ClickHouse. Default: those of Node.'),
  WATTLEDGER_CLICKHOUSE_REPLICATED: z
    .enum(['on', 'off'])
    .default('off')
    .describe('Replicated tables: on or off. The URL must lead to one server; its user needs SYSTEM SYNC REPLICA.'),
  WATTLEDGER_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Min level of log lines: debug, info, warn or error.'),
  WATTLEDGER_LOG_PARTITIONS: wholeNumber
    .max(1024)
    .default(8)
    .describe('Partitions of the embedded log, at most 1024. Fixed after the first start.'),
  WATTLEDGER_LOG_RETENTION_HOURS: wholeNumber
    .default(168)
    .describe('Retention of read messages of the embedded log, in hours.'),
  WATTLEDGER_LOG_MAX_GIB: wholeNumber
    .default(64)
    .describe('Max size of the embedded log in GiB. A full log answers 503.'),
  WATTLEDGER_EXPORT_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of export files, which all processes share. Default with embedded stores: in the data folder.'),
  WATTLEDGER_FAILING_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(100)
    .default(50)
    .describe('Failing locations of a partition, in percent, above which its worker stops; 100 never stops.'),
  WATTLEDGER_FAILING_LOCATIONS: wholeNumber
    .default(20)
    .describe('Min number of failing locations of a partition at which its worker stops.'),
  WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: networks.describe(
    'Networks (CIDR, separated by commas) that webhooks can call in addition to public addresses.',
  ),
  WATTLEDGER_RATE_LIMIT: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(200)
    .describe(
      'Requests per second of each account and mode, without metering and login; burst: 5 times as many; 0: no limit.',
    ),
  WATTLEDGER_TRUSTED_PROXIES: networks.describe(
    'Networks (CIDR, separated by commas) of proxies whose X-Forwarded-For names the client.',
  ),
  ...feedVariables,
})

export type Config = DistributedSettings & {
  readonly host: string
  readonly port: number
  readonly metricsPort: number
  /**
   * True if the metrics can use another port when theirs is in use: with embedded stores and without a configured port.
   */
  readonly isMetricsPortFree: boolean
  readonly dataFolder: string
  readonly postgresUrl: string | null
  readonly secret: string | null
  readonly operatorKey: string | null
  readonly credentialsKey: string | null
  /** Former values of `secret`. `formerCredentialsKeys`: former values of `credentialsKey`. */
  readonly formerSecrets: readonly string[]
  readonly formerCredentialsKeys: readonly string[]
  readonly connectPath: string
  /** Origin of the service in browsers, without a slash at its end; null if it is unknown. */
  readonly publicUrl: string | null
  readonly gatewayUrl: string | null
  /** People may sign in to the console with an API key. */
  readonly allowsKeySignIn: boolean
  /** OpenID provider for users of the console; null without one. */
  readonly openId: OpenIdConfig | null
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly logPartitions: number
  readonly logRetentionMs: number
  readonly logMaxBytes: number
  /** Folder of the files of exports; null: none, because several processes share no folder. */
  readonly exportFolder: string | null
  /**
   * Share of failing locations in [0, 1] above which a partition stops its worker, if at least `failingLocations` fail.
   */
  readonly failingShare: number
  readonly failingLocations: number
  readonly webhookAllowedNetworks: readonly string[]
  readonly rateLimitPerSecond: number | null
  /** Networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly marketFeeds: FeedConfig
}

/** Environment variable with the API key of commands that call the service. It is no setting of the service. */
export const keyVariable = 'WATTLEDGER_API_KEY'

/**
 * Read the configuration from environment variables.
 * Throws `ConfigError` that lists each invalid variable and each unknown variable with the prefix `WATTLEDGER_`.
 */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const named = Object.fromEntries(
    Object.entries(variables).filter(
      ([name, value]) => name.startsWith('WATTLEDGER_') && name !== keyVariable && value !== '',
    ),
  )
  const read = z.strictObject(environment.shape).safeParse(named)
  if (!read.success) throw new ConfigError(read.error.issues.map(describeIssue).join('\n'))
  const value = read.data
  const distributed = distributedSettings(value)
  const publicUrl = value.WATTLEDGER_PUBLIC_URL === undefined ? null : new URL(value.WATTLEDGER_PUBLIC_URL).origin
  const postgresUrl = value.WATTLEDGER_POSTGRES_URL ?? null
  const isMetricsPortFree =
    !('WATTLEDGER_METRICS_PORT' in named) && embeddedStores({ ...distributed, postgresUrl }).length > 0
  return {
    host: value.WATTLEDGER_HOST,
    port: value.WATTLEDGER_PORT,
    metricsPort: value.WATTLEDGER_METRICS_PORT,
    isMetricsPortFree,
    dataFolder: resolve(value.WATTLEDGER_DATA_DIR),
    postgresUrl,
    secret: value.WATTLEDGER_SECRET ?? null,
    operatorKey: value.WATTLEDGER_OPERATOR_KEY ?? null,
    credentialsKey: value.WATTLEDGER_CREDENTIALS_KEY ?? null,
    formerSecrets: value.WATTLEDGER_FORMER_SECRETS,
    formerCredentialsKeys: value.WATTLEDGER_FORMER_CREDENTIALS_KEYS,
    connectPath: value.WATTLEDGER_CONNECT_PATH,
    publicUrl,
    gatewayUrl: value.WATTLEDGER_GATEWAY_URL === undefined ? null : new URL(value.WATTLEDGER_GATEWAY_URL).origin,
    openId: readOpenIdConfig(value, publicUrl),
    allowsKeySignIn: value.WATTLEDGER_CONSOLE_KEY_SIGN_IN === 'on',
    ...distributed,
    logLevel: value.WATTLEDGER_LOG_LEVEL,
    logPartitions: value.WATTLEDGER_LOG_PARTITIONS,
    logRetentionMs: value.WATTLEDGER_LOG_RETENTION_HOURS * 3_600_000,
    logMaxBytes: value.WATTLEDGER_LOG_MAX_GIB * 2 ** 30,
    exportFolder: exportFolderOf(value, embeddedStores({ ...distributed, postgresUrl }).length > 0),
    failingShare: value.WATTLEDGER_FAILING_PERCENT / 100,
    failingLocations: value.WATTLEDGER_FAILING_LOCATIONS,
    webhookAllowedNetworks: value.WATTLEDGER_WEBHOOK_ALLOW_NETWORKS,
    rateLimitPerSecond: value.WATTLEDGER_RATE_LIMIT === 0 ? null : value.WATTLEDGER_RATE_LIMIT,
    trustedProxies: value.WATTLEDGER_TRUSTED_PROXIES,
    marketFeeds: readFeedConfig(value),
  }
}

/** Return the folder of the files of exports. One process uses its data folder by default. */
function exportFolderOf(
  value: { readonly WATTLEDGER_EXPORT_DIR?: string | undefined; readonly WATTLEDGER_DATA_DIR: string },
  isOneProcess: boolean,
): string | null {
  if (value.WATTLEDGER_EXPORT_DIR !== undefined) return resolve(value.WATTLEDGER_EXPORT_DIR)
  return isOneProcess ? join(resolve(value.WATTLEDGER_DATA_DIR), 'exports', 'files') : null
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return `${issue.keys.join(', ')}: Unknown setting. deploy/env.example lists all settings.`
  const name = issue.path.join('.')
  const meaning = name in environment.shape ? environment.shape[name as keyof typeof environment.shape].description : ''
  return `${name}: ${issue.message}. ${meaning}`
}

/** Settings that all processes of an installation share. */
type SharedSettings = Pick<Config, 'kafka' | 'schemaRegistry' | 'clickHouse' | 'postgresUrl' | 'secret'>

const noSharedSettings: SharedSettings = {
  kafka: null,
  schemaRegistry: null,
  clickHouse: null,
  postgresUrl: null,
  secret: null,
}

/**
 * Read the roles from the arguments `--roles a,b`. Without arguments, the process runs all roles.
 * Throws `ConfigError` for unknown arguments and roles. A subset of roles needs external stores and a shared secret.
 */
export function readRoles(args: readonly string[], config: SharedSettings = noSharedSettings): readonly Role[] {
  const at = args.findIndex(argument => argument === '--roles' || argument.startsWith('--roles='))
  if (at === -1 && args.length === 0) return roles
  const [flag = '', next] = args.slice(at)
  const list = flag.startsWith('--roles=') ? flag.slice('--roles='.length) : next
  if (at !== 0 || list === undefined || args.length > (flag.includes('=') ? 1 : 2)) {
    throw new ConfigError(
      `Unknown arguments "${args.join(' ')}". Use --help, or --roles with some of ${roles.join(', ')}.`,
    )
  }
  const chosenRoles = list.split(',').map(argument => {
    const role = roles.find(known => known === argument.trim())
    if (role === undefined)
      throw new ConfigError(`--roles: Unknown role "${argument.trim()}". The roles are ${roles.join(', ')}.`)
    return role
  })
  if (new Set(chosenRoles).size === roles.length) return roles
  const missing = [...embeddedStores(config), ...(config.secret === null ? ['WATTLEDGER_SECRET'] : [])]
  if (missing.length > 0) {
    const reason = 'Embedded stores belong to one process, which must run all roles'
    throw new ConfigError(`--roles: ${reason}. Omit --roles, or set ${missing.join(', ')}.`)
  }
  return chosenRoles
}
