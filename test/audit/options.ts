import { parseArgs } from 'node:util'

/** Kinds of operations that a run can leave out. */
const kinds = ['repricing', 'estimates', 'registers'] as const
export type Kind = (typeof kinds)[number]

export type AuditOptions = {
  /** Records of first submissions. Corrections and repeated records are added. */
  readonly records: number
  readonly kills: number
  readonly seed: number
  readonly connections: number
  /** One process for each role, with Kafka, PostgreSQL and ClickHouse over HTTP, instead of one embedded process. */
  readonly isDistributed: boolean
  readonly locations: number
  readonly without: ReadonlySet<Kind>
  /** Do not remove the data folder and the journal. */
  readonly isDataRetained: boolean
  /** Alter one stored row after a clean run. The audit must find the altered row. */
  readonly isAltered: boolean
  /** Send large submissions of plain records several times concurrently, while workers join and leave. */
  readonly isBulk: boolean
}

const defaultWithout = 'none'
const embeddedDefaults = { records: 200_000, kills: 12 }
const distributedDefaults = { records: 20_000, kills: 14 }
const bulkDefaults = { records: 1_000_000, kills: 14 }

/** Minimum duration of the load for each fault of a distributed audit, so that there is load during each fault. */
export const minMsPerFault = 20_000

export class OptionError extends Error {}

export const help = `Audits a running system. The audit sends a random history while it kills processes. Then the audit
reads all data and compares them with an exact calculation that shares no code with the service.

  npm run audit -- [--distributed | --bulk] [--records N] [--kills N] [--seed N] [--connections N] [--locations N]
                   [--without KINDS] [--alter] [--keep]

  --distributed     Start one process for each role, three Kafka brokers (min ISR 2), a schema registry, PostgreSQL and
                    ClickHouse over HTTP. --kills then counts random faults: SIGKILL of a process, of one or two
                    brokers, of PostgreSQL or of ClickHouse; a worker that is paused for longer than its session;
                    a restart of all processes of a role by SIGTERM; ClickHouse that refuses, hangs or cuts
                    connections for some seconds. The load takes at least ${minMsPerFault / 1_000} s for each fault.
  --records N       Records of first submissions, 100 to 10000000. Corrections and repeated records are added.
                    (default ${embeddedDefaults.records}, distributed ${distributedDefaults.records})
  --kills N         Number of times that the system is killed with SIGKILL and started again, 0 to 1000
                    (default ${embeddedDefaults.kills}, distributed ${distributedDefaults.kills}).
  --seed N          Seed of the history and of the times of kills. The same seed repeats a run (default 1).
  --connections N   Concurrent senders, 1 to 64 (default 4).
  --locations N     Locations, 1 to 10000 (default 40).
  --without KINDS   Operations to leave out, separated by commas (default ${defaultWithout}):
                    repricing: tariffs and prices that change the costs of stored records
                    estimates: records with a confidence below 1
                    registers: cumulative readings
                    none: leave nothing out
  --bulk            Send large submissions of plain records. Each submission is sent one to five times concurrently, and
                    every copy is repeated until it has an answer. Every 3 s a worker joins or leaves the group.
                    The audit verifies each stored row, and each day of each location over HTTP.
                    Implies --distributed (default ${bulkDefaults.records} records and ${bulkDefaults.kills} kills).
  --alter           Alter one stored row after a run without differences. The audit must fail and name the row.
  --keep            Do not remove the data folder and the journal.
  --help            Show this help.

Exit codes: 0 all promises are kept, 1 a promise is broken, 2 invalid arguments.
`

const text = { type: 'string' } as const

const parseArguments = (args: readonly string[]) => {
  const flag = { type: 'boolean', default: false } as const
  const options = {
    records: text,
    kills: text,
    seed: text,
    connections: text,
    locations: text,
    without: text,
    keep: flag,
    alter: flag,
    distributed: flag,
    bulk: flag,
    help: flag,
  }
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

const parseNumber = (
  name: string,
  given: string | undefined,
  defaultValue: number,
  [min, max]: readonly [number, number],
): number => {
  if (given === undefined) return defaultValue
  const value = Number(given)
  if (/^\d+$/.test(given) && value >= min && value <= max) return value
  throw new OptionError(`--${name} must be a whole number from ${min} to ${max}, not "${given}".`)
}

const parseKinds = (given: string): ReadonlySet<Kind> => {
  const named = given.split(',').filter(name => name !== 'none' && name !== '')
  const unknown = named.find(name => !kinds.some(kind => kind === name))
  if (unknown !== undefined) throw new OptionError(`--without must name ${kinds.join(', ')} or none, not "${unknown}".`)
  return new Set(kinds.filter(kind => named.includes(kind)))
}

/** Read the arguments of the command; null if they request help. Throws `OptionError`. */
export const parseOptions = (args: readonly string[]): AuditOptions | null => {
  const given = parseArguments(args)
  if (given.help) return null
  if (given.bulk && (given.alter || given.without !== undefined))
    throw new OptionError('Use --bulk without --alter and --without.')
  const defaults = given.bulk ? bulkDefaults : given.distributed ? distributedDefaults : embeddedDefaults
  return {
    isDistributed: given.distributed || given.bulk,
    isBulk: given.bulk,
    records: parseNumber('records', given.records, defaults.records, [100, 10_000_000]),
    kills: parseNumber('kills', given.kills, defaults.kills, [0, 1_000]),
    seed: parseNumber('seed', given.seed, 1, [0, 2 ** 31]),
    connections: parseNumber('connections', given.connections, 4, [1, 64]),
    locations: parseNumber('locations', given.locations, 40, [1, 10_000]),
    without: parseKinds(given.without ?? defaultWithout),
    isDataRetained: given.keep,
    isAltered: given.alter,
  }
}
