import { parseArgs } from 'node:util'

/** Kinds of operations that a run may leave out. */
const kinds = ['repricing', 'estimates', 'registers'] as const
export type Kind = (typeof kinds)[number]

export type AuditOptions = {
  /** Records of first submissions; corrections and resends come on top. */
  readonly records: number
  readonly kills: number
  readonly seed: number
  readonly connections: number
  /** Many processes on brokers and servers instead of one on embedded parts. */
  readonly isDistributed: boolean
  readonly locations: number
  readonly without: ReadonlySet<Kind>
  /** Leave the data folder and the journal where they are. */
  readonly isDataRetained: boolean
  /** Alter one stored row by hand after a clean run; the audit must then find it. */
  readonly isAltered: boolean
  /** Many plain records in large submissions, each sent several times at once while workers come and go. */
  readonly isBulk: boolean
}

const defaultWithout = 'none'
const usual = { records: 200_000, kills: 12 }
const usualDistributed = { records: 20_000, kills: 14 }
const usualBulk = { records: 1_000_000, kills: 14 }

/** The sending of a distributed audit takes so long for each fault at the least, and waits for its end, that there is load in each. */
export const minMsPerFault = 20_000

export class OptionError extends Error {}

export const help = `Audits a running system: sends it a random history while it is killed, then reads everything back and compares it to the
last digit with an exact calculation that shares no code with it.

  npm run audit -- [--distributed | --bulk] [--records N] [--kills N] [--seed N] [--connections N] [--without KINDS] [--keep]

  --distributed     Audit processes by role on three Kafka brokers (min ISR 2), a registry, PostgreSQL and ClickHouse over HTTP, started here.
                    A kill is then any fault: a process, one or two brokers, PostgreSQL or ClickHouse killed with -9, a worker frozen past its session,
                    a role restarted in turn by SIGTERM, ClickHouse that refuses, hangs or cuts for seconds. The sending takes ${minMsPerFault / 1_000} s or more for each.
  --records N       Records of first submissions, 100 to 10000000 (${usual.records}, distributed ${usualDistributed.records}); corrections and resends come on top.
  --kills N         Times the system is killed with -9 and started again, 0 to 1000 (${usual.kills}, distributed ${usualDistributed.kills}).
  --seed N          Another number gives another history; the same one the same history and kills at the same places (1).
  --connections N   Submitters at once, 1 to 64 (4).
  --locations N     Locations, 1 to 10000 (40).
  --without KINDS   Leave operations out, a comma list of: repricing (tariffs and prices that change what stored records cost),
                    estimates (records below confidence 1), registers (cumulative readings); none: leave nothing out (${defaultWithout}).
  --bulk            Send plain records in large submissions, each one to five times at once and every copy until it is answered, while every 3 s a worker
                    joins the group or leaves it; judge every stored row as the service reads it, and every day of every location over HTTP.
                    Always distributed; ${usualBulk.records} records and ${usualBulk.kills} kills, unless told otherwise.
  --alter           After a clean run alter one stored row by hand; the audit must then fail and name it.
  --keep            Leave the data folder and the journal for a look.
  --help            Show this help.

Exits with 0 when every promise is kept, 1 when one is not, 2 when it was not told right.
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
  throw new OptionError(`--${name} is a whole number from ${min} to ${max}, not "${given}"`)
}

const parseKinds = (given: string): ReadonlySet<Kind> => {
  const named = given.split(',').filter(name => name !== 'none' && name !== '')
  const unknown = named.find(name => !kinds.some(kind => kind === name))
  if (unknown !== undefined) throw new OptionError(`--without knows ${kinds.join(', ')}, not "${unknown}"`)
  return new Set(kinds.filter(kind => named.includes(kind)))
}

/** Read the words of a command; null: it asks for help. Throws `OptionError`. */
export const parseOptions = (args: readonly string[]): AuditOptions | null => {
  const given = parseArguments(args)
  if (given.help) return null
  if (given.bulk && (given.alter || given.without !== undefined))
    throw new OptionError('--bulk has neither --alter nor --without')
  const preset = given.bulk ? usualBulk : given.distributed ? usualDistributed : usual
  return {
    isDistributed: given.distributed || given.bulk,
    isBulk: given.bulk,
    records: parseNumber('records', given.records, preset.records, [100, 10_000_000]),
    kills: parseNumber('kills', given.kills, preset.kills, [0, 1_000]),
    seed: parseNumber('seed', given.seed, 1, [0, 2 ** 31]),
    connections: parseNumber('connections', given.connections, 4, [1, 64]),
    locations: parseNumber('locations', given.locations, 40, [1, 10_000]),
    without: parseKinds(given.without ?? defaultWithout),
    isDataRetained: given.keep,
    isAltered: given.alter,
  }
}
