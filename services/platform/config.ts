import { resolve } from 'node:path'
import { z } from 'zod'

/** The parts of the system that one process can run. */
export const roles = ['ingest-gateway', 'cost-worker', 'query-service'] as const
export type Role = (typeof roles)[number]

const port = z.coerce.number().int().min(0).max(65_535)
const wholeNumber = z.coerce.number().int().positive()

/** Every variable, with its unit and default; `deploy/env.example` lists the same. Nothing else reads the environment. */
export const environment = z.object({
  WATTLEDGER_HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  WATTLEDGER_PORT: port.default(8080).describe('Port of the interface; 0 takes a free one.'),
  WATTLEDGER_METRICS_PORT: port.default(9464).describe('Port of the Prometheus metrics; 0 takes a free one.'),
  WATTLEDGER_DATA_DIR: z.string().min(1).default('./data').describe('Folder of all data.'),
  WATTLEDGER_POSTGRES_URL: z.string().optional().describe('A PostgreSQL to use instead of the packaged one: postgres://…'),
  WATTLEDGER_SECRET: z
    .string()
    .min(32)
    .optional()
    .describe('Secret for signing and hashing, 32 characters or more; default: made once and kept in the data folder.'),
  WATTLEDGER_OPERATOR_KEY: z
    .string()
    .min(24)
    .optional()
    .describe('Secret of the operator; default: made once and kept in the data folder.'),
  WATTLEDGER_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Least severe log line that is written.'),
  WATTLEDGER_LOG_PARTITIONS: wholeNumber.max(1024).default(8).describe('Lanes of the embedded log; fixed once the data folder is made.'),
  WATTLEDGER_LOG_RETENTION_HOURS: wholeNumber.default(168).describe('Hours that read messages of the embedded log are kept.'),
  WATTLEDGER_LOG_MAX_GIB: wholeNumber.default(64).describe('Room of the embedded log in GiB; full means 503.'),
  WATTLEDGER_FAILING_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(100)
    .default(50)
    .describe('Share of the locations of a lane, in percent, above which failing ones stop the worker; 100 never stops it.'),
  WATTLEDGER_FAILING_LOCATIONS: wholeNumber.default(20).describe('Number of failing locations below which a lane never stops the worker.'),
  WATTLEDGER_RATE_LIMIT: wholeNumber.optional().describe('Requests a second for each account and mode; default: no limit.'),
})

export type Config = {
  readonly host: string
  readonly port: number
  readonly metricsPort: number
  readonly dataFolder: string
  readonly postgresUrl: string | null
  readonly secret: string | null
  readonly operatorKey: string | null
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly logPartitions: number
  readonly logRetentionMs: number
  readonly logMaxBytes: number
  /** Above this share (0 … 1) of failing locations, and from so many on, a lane stops its worker. */
  readonly failingShare: number
  readonly failingLocations: number
  readonly rateLimitPerSecond: number | null
}

/** A setting that cannot be used; the message names the variable and what to change. */
export class ConfigError extends Error {}

/**
 * Read the configuration from the environment alone.
 * Throws `ConfigError` naming every unusable variable, and every unknown one that begins with `WATTLEDGER_`.
 */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const named = Object.fromEntries(Object.entries(variables).filter(([name, value]) => name.startsWith('WATTLEDGER_') && value !== ''))
  const read = z.strictObject(environment.shape).safeParse(named)
  if (!read.success) throw new ConfigError(read.error.issues.map(describeIssue).join('\n'))
  const value = read.data
  return {
    host: value.WATTLEDGER_HOST,
    port: value.WATTLEDGER_PORT,
    metricsPort: value.WATTLEDGER_METRICS_PORT,
    dataFolder: resolve(value.WATTLEDGER_DATA_DIR),
    postgresUrl: value.WATTLEDGER_POSTGRES_URL ?? null,
    secret: value.WATTLEDGER_SECRET ?? null,
    operatorKey: value.WATTLEDGER_OPERATOR_KEY ?? null,
    logLevel: value.WATTLEDGER_LOG_LEVEL,
    logPartitions: value.WATTLEDGER_LOG_PARTITIONS,
    logRetentionMs: value.WATTLEDGER_LOG_RETENTION_HOURS * 3_600_000,
    logMaxBytes: value.WATTLEDGER_LOG_MAX_GIB * 2 ** 30,
    failingShare: value.WATTLEDGER_FAILING_PERCENT / 100,
    failingLocations: value.WATTLEDGER_FAILING_LOCATIONS,
    rateLimitPerSecond: value.WATTLEDGER_RATE_LIMIT ?? null,
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')}: no such setting; deploy/env.example lists all`
  const name = issue.path.join('.')
  const meaning = name in environment.shape ? environment.shape[name as keyof typeof environment.shape].description : ''
  return `${name}: ${issue.message}. ${meaning}`
}

/**
 * Read the words of the command line: `--roles a,b`, `--help`.
 * Throws `ConfigError` for unknown words, unknown roles, and for a subset of roles on embedded parts, which one process must hold alone.
 */
export function readRoles(words: readonly string[]): readonly Role[] {
  const at = words.findIndex(word => word === '--roles' || word.startsWith('--roles='))
  if (at === -1 && words.length === 0) return roles
  const [flag = '', next] = words.slice(at)
  const list = flag.startsWith('--roles=') ? flag.slice('--roles='.length) : next
  if (at !== 0 || list === undefined || words.length > (flag.includes('=') ? 1 : 2)) {
    throw new ConfigError(`cannot read "${words.join(' ')}"; use --help, or --roles with some of ${roles.join(', ')}`)
  }
  const chosen = list.split(',').map(word => {
    const role = roles.find(known => known === word.trim())
    if (role === undefined) throw new ConfigError(`--roles: "${word.trim()}" is no role; the roles are ${roles.join(', ')}`)
    return role
  })
  if (new Set(chosen).size < roles.length) {
    throw new ConfigError('--roles: the embedded parts belong to one process, so it must run every role: leave --roles out')
  }
  return roles
}
