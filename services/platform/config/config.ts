import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../failure.ts'
import { saslMechanisms } from '../log/kafka/sasl-mechanism.ts'
import { type FeedConfig, feedNames, parseFeeds, readFeedConfig } from '../market-feeds/feed-config.ts'
import { type DistributedSettings, distributedSettings, embeddedStores } from './distributed-settings.ts'

/** The parts of the system that one process can run. */
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

const networks = list.refine(found => found.every(isNetwork), {
  message: 'must be networks such as 10.1.0.0/16,fd00::/8',
})

const formerSecrets = list.refine(found => found.every(({ length }) => length >= 32), {
  message: 'each must have 32 characters or more',
})

const marketFeeds = z
  .string()
  .transform(parseFeeds)
  .pipe(
    z.array(z.custom<FeedConfig['enabled'][number]>(), {
      error: `must be some of ${feedNames.join(', ')}, each perhaps with =URL`,
    }),
  )

/**
 * Every variable, with its unit and default; `deploy/env.example` lists the same. Nothing else reads the environment.
 */
export const environment = z.object({
  WATTLEDGER_HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  WATTLEDGER_PORT: port.default(8080).describe('Port of the interface; 0 takes a free one.'),
  WATTLEDGER_METRICS_PORT: port
    .default(9464)
    .describe(
      'Port of the Prometheus metrics; 0 takes a free one. If it is not set and taken, a service on embedded parts takes a free one.',
    ),
  WATTLEDGER_DATA_DIR: z.string().min(1).default('./data').describe('Folder of all data.'),
  WATTLEDGER_POSTGRES_URL: z
    .string()
    .optional()
    .describe(
      'A PostgreSQL to use instead of the packaged one: postgres://… Its login owns the tables, and sessions take the roles wattledger_tenant and wattledger_operator from it (set role).',
    ),
  WATTLEDGER_SECRET: z
    .string()
    .min(32)
    .optional()
    .describe('Secret for signing and hashing, 32 characters or more; default: made once and kept in the data folder.'),
  WATTLEDGER_FORMER_SECRETS: formerSecrets.describe(
    'Secrets that WATTLEDGER_SECRET has been before, separated by commas: what was made with one of them goes on working.',
  ),
  WATTLEDGER_OPERATOR_KEY: z
    .string()
    .min(24)
    .optional()
    .describe('Secret of the operator; default: made once and kept in the data folder.'),
  WATTLEDGER_CREDENTIALS_KEY: z
    .string()
    .min(32)
    .optional()
    .describe(
      'Key that encrypts the credentials of providers, 32 characters or more; default: made once and kept in the data folder.',
    ),
  WATTLEDGER_FORMER_CREDENTIALS_KEYS: formerSecrets.describe(
    'Keys that WATTLEDGER_CREDENTIALS_KEY has been before, separated by commas: what was encrypted with one of them can still be read.',
  ),
  WATTLEDGER_CONNECT_PATH: z
    .string()
    .regex(/^(\/[A-Za-z0-9._~-]+)+$/, 'must be a path such as /connect')
    .default('/connect')
    .describe('Path at which Connect is mounted; /connect answers besides.'),
  WATTLEDGER_KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,]+:\d+(,[^\s,]+:\d+)*$/, 'must be host:port, separated by commas')
    .optional()
    .describe('Kafka brokers (host:port, separated by commas) to use instead of the embedded log.'),
  WATTLEDGER_KAFKA_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]*$/, 'must be letters, digits, dots, underscores and hyphens')
    .default('')
    .describe('Text before the names of topics and groups at the brokers.'),
  WATTLEDGER_KAFKA_TLS: z.enum(['on', 'off']).default('off').describe('Whether the brokers are spoken to over TLS.'),
  WATTLEDGER_KAFKA_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File of PEM certificates that the brokers are trusted by.'),
  WATTLEDGER_KAFKA_SASL: z
    .enum(saslMechanisms)
    .optional()
    .describe('How the brokers let in: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.'),
  WATTLEDGER_KAFKA_USER: z.string().min(1).optional().describe('User at the brokers.'),
  WATTLEDGER_KAFKA_PASSWORD: z.string().min(1).optional().describe('Password at the brokers.'),
  WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: wholeNumber
    .min(1_000)
    .max(3_600_000)
    .default(45_000)
    .describe('How long the brokers wait for a silent reader, in ms: their group.consumer.session.timeout.ms.'),
  WATTLEDGER_SCHEMA_REGISTRY_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('A Confluent-compatible schema registry; default: schemas are numbered by their hashes, without one.'),
  WATTLEDGER_SCHEMA_REGISTRY_USER: z.string().min(1).optional().describe('User at the schema registry.'),
  WATTLEDGER_SCHEMA_REGISTRY_PASSWORD: z.string().min(1).optional().describe('Password at the schema registry.'),
  WATTLEDGER_CLICKHOUSE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('A ClickHouse server to use instead of the embedded engine: https://host:8443'),
  WATTLEDGER_CLICKHOUSE_USER: z.string().min(1).default('default').describe('User at ClickHouse.'),
  WATTLEDGER_CLICKHOUSE_PASSWORD: z.string().default('').describe('Password at ClickHouse.'),
  WATTLEDGER_CLICKHOUSE_DATABASE: z
    .string()
    .min(1)
    .default('default')
    .describe('Database at ClickHouse; it must exist.'),
  WATTLEDGER_CLICKHOUSE_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File of PEM certificates that ClickHouse is trusted by.'),
  WATTLEDGER_CLICKHOUSE_REPLICATED: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'Whether tables are copied over a cluster. The address then leads to one server, where a worker reads what it wrote; its user may SYSTEM SYNC REPLICA.',
    ),
  WATTLEDGER_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least severe log line that is written.'),
  WATTLEDGER_LOG_PARTITIONS: wholeNumber
    .max(1024)
    .default(8)
    .describe('Lanes of the embedded log; fixed once the data folder is made.'),
  WATTLEDGER_LOG_RETENTION_HOURS: wholeNumber
    .default(168)
    .describe('Hours that read messages of the embedded log are kept.'),
  WATTLEDGER_LOG_MAX_GIB: wholeNumber.default(64).describe('Room of the embedded log in GiB; full means 503.'),
  WATTLEDGER_FAILING_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(100)
    .default(50)
    .describe(
      'Share of the locations of a lane, in percent, above which failing ones stop the worker; 100 never stops it.',
    ),
  WATTLEDGER_FAILING_LOCATIONS: wholeNumber
    .default(20)
    .describe('Number of failing locations below which a lane never stops the worker.'),
  WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: networks.describe(
    'Networks (CIDR, separated by commas) to which webhooks may go besides public addresses.',
  ),
  WATTLEDGER_RATE_LIMIT: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(200)
    .describe(
      'Requests a second for each account and mode, five times as many at once; metering and login are not counted. 0 sets no limit.',
    ),
  WATTLEDGER_TRUSTED_PROXIES: networks.describe(
    'Networks (CIDR, separated by commas) of proxies before the service. Their X-Forwarded-For names the peer whose wrong keys are counted.',
  ),
  WATTLEDGER_MARKET_FEEDS: marketFeeds
    .optional()
    .describe(
      `Public price feeds to fetch from, preferred first, separated by commas; name=URL names another address. Known: ${feedNames.join(', ')}; default: none, nothing outside is called.`,
    ),
  WATTLEDGER_ENTSOE_TOKEN: z
    .string()
    .min(1)
    .optional()
    .describe('Security token of the ENTSO-E transparency platform, for the feed entsoe.'),
  WATTLEDGER_OCTOPUS_PRODUCT: z
    .string()
    .regex(/^[A-Z0-9-]+$/, 'must be the code of a product')
    .default('AGILE-24-10-01')
    .describe('Product whose prices the feed octopus-agile fetches.'),
  WATTLEDGER_OCTOPUS_VAT: z
    .enum(['included', 'excluded'])
    .default('included')
    .describe('Whether the prices of octopus-agile hold VAT.'),
  WATTLEDGER_OCTOPUS_REGION: z
    .enum([...'ABCDEFGHJKLMNP'])
    .optional()
    .describe(
      'Grid region, A to P, whose octopus-agile prices stand for all of Great Britain; default: none, each region has its own source.',
    ),
})

export type Config = DistributedSettings & {
  readonly host: string
  readonly port: number
  readonly metricsPort: number
  /**
   * Whether the metrics may take a free port because theirs was not chosen: on embedded parts no monitoring counts on
   * it.
   */
  readonly isMetricsPortFree: boolean
  readonly dataFolder: string
  readonly postgresUrl: string | null
  readonly secret: string | null
  readonly operatorKey: string | null
  readonly credentialsKey: string | null
  /** What `secret` and `credentialsKey` have been before. */
  readonly formerSecrets: readonly string[]
  readonly formerCredentialsKeys: readonly string[]
  readonly connectPath: string
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly logPartitions: number
  readonly logRetentionMs: number
  readonly logMaxBytes: number
  /** Above this share (0 … 1) of failing locations, and from so many on, a lane stops its worker. */
  readonly failingShare: number
  readonly failingLocations: number
  readonly webhookAllowedNetworks: readonly string[]
  readonly rateLimitPerSecond: number | null
  /** Networks of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** Where market prices are fetched from; nothing chosen: from nowhere. */
  readonly marketFeeds: FeedConfig
}

/**
 * Read the configuration from the environment alone.
 * Throws `ConfigError` naming every unusable variable, and every unknown one that begins with `WATTLEDGER_`.
 */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const named = Object.fromEntries(
    Object.entries(variables).filter(([name, value]) => name.startsWith('WATTLEDGER_') && value !== ''),
  )
  const read = z.strictObject(environment.shape).safeParse(named)
  if (!read.success) throw new ConfigError(read.error.issues.map(describeIssue).join('\n'))
  const value = read.data
  const distributed = distributedSettings(value)
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
    ...distributed,
    logLevel: value.WATTLEDGER_LOG_LEVEL,
    logPartitions: value.WATTLEDGER_LOG_PARTITIONS,
    logRetentionMs: value.WATTLEDGER_LOG_RETENTION_HOURS * 3_600_000,
    logMaxBytes: value.WATTLEDGER_LOG_MAX_GIB * 2 ** 30,
    failingShare: value.WATTLEDGER_FAILING_PERCENT / 100,
    failingLocations: value.WATTLEDGER_FAILING_LOCATIONS,
    webhookAllowedNetworks: value.WATTLEDGER_WEBHOOK_ALLOW_NETWORKS,
    rateLimitPerSecond: value.WATTLEDGER_RATE_LIMIT === 0 ? null : value.WATTLEDGER_RATE_LIMIT,
    trustedProxies: value.WATTLEDGER_TRUSTED_PROXIES,
    marketFeeds: readFeedConfig(value),
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return `${issue.keys.join(', ')}: no such setting; deploy/env.example lists all`
  const name = issue.path.join('.')
  const meaning = name in environment.shape ? environment.shape[name as keyof typeof environment.shape].description : ''
  return `${name}: ${issue.message}. ${meaning}`
}

/** What several processes must have in common. */
type SharedSettings = Pick<Config, 'kafka' | 'schemaRegistry' | 'clickHouse' | 'postgresUrl' | 'secret'>

const noSharedSettings: SharedSettings = {
  kafka: null,
  schemaRegistry: null,
  clickHouse: null,
  postgresUrl: null,
  secret: null,
}

/**
 * Read the words of the command line: `--roles a,b`, `--help`.
 * Throws `ConfigError` for unknown words, unknown roles, and for a subset of roles on embedded parts, which one process
 * must hold alone, or
 * without a secret that all processes share.
 */
export function readRoles(args: readonly string[], config: SharedSettings = noSharedSettings): readonly Role[] {
  const at = args.findIndex(argument => argument === '--roles' || argument.startsWith('--roles='))
  if (at === -1 && args.length === 0) return roles
  const [flag = '', next] = args.slice(at)
  const list = flag.startsWith('--roles=') ? flag.slice('--roles='.length) : next
  if (at !== 0 || list === undefined || args.length > (flag.includes('=') ? 1 : 2)) {
    throw new ConfigError(`cannot read "${args.join(' ')}"; use --help, or --roles with some of ${roles.join(', ')}`)
  }
  const chosenRoles = list.split(',').map(argument => {
    const role = roles.find(known => known === argument.trim())
    if (role === undefined)
      throw new ConfigError(`--roles: "${argument.trim()}" is no role; the roles are ${roles.join(', ')}`)
    return role
  })
  if (new Set(chosenRoles).size === roles.length) return roles
  const missing = [...embeddedStores(config), ...(config.secret === null ? ['WATTLEDGER_SECRET'] : [])]
  if (missing.length > 0) {
    const reason = 'the embedded parts belong to one process, so it must run every role'
    throw new ConfigError(`--roles: ${reason}: leave --roles out, or set ${missing.join(', ')}`)
  }
  return chosenRoles
}
