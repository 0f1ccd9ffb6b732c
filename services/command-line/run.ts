import { presentInstant } from '../platform/clock.ts'
import { ConfigError } from '../platform/config.ts'
import { isFailure } from '../platform/failure.ts'
import { version } from '../platform/version.ts'
import { accountCommands } from './account-commands.ts'
import { auditLogCommands } from './audit-log-commands.ts'
import { type Command, CommandError, type Outcome, UsageError } from './command.ts'
import { deadLetterCommands } from './dead-letter-commands.ts'
import { doctorCommand } from './doctor-command.ts'
import { eraseCommand } from './erase-command.ts'
import { forecastCommands } from './forecast-commands.ts'
import { commandHelp, overview, usageOf } from './help.ts'
import { keyCommands } from './key-commands.ts'
import { marketCommands } from './market-commands.ts'
import { migrateCommand } from './migrate-command.ts'
import { pricesCommand } from './price-command.ts'
import { providerCommands } from './provider-commands.ts'
import { findCommand, readWords } from './read-words.ts'
import { scheduleCommand } from './schedule-command.ts'
import { CallError } from './service-client.ts'
import { topicsCommand } from './topics-command.ts'

const commands: readonly Command[] = [
  ...accountCommands,
  ...keyCommands,
  ...deadLetterCommands,
  ...auditLogCommands,
  ...marketCommands,
  ...providerCommands,
  pricesCommand,
  scheduleCommand,
  eraseCommand,
  migrateCommand,
  topicsCommand,
  doctorCommand,
  ...forecastCommands,
]

/** Where a run writes to; each text ends its own lines. */
type Terminal = { readonly out: (text: string) => void; readonly err: (text: string) => void }

/** The commands that a first word alone stands for, such as `account`. */
const groupOf = (words: readonly string[]): readonly Command[] => commands.filter(({ name }) => name.startsWith(`${words[0]} `))

const isHelpWord = (word: string | undefined): boolean => word === '--help' || word === '-h' || word === 'help'

/**
 * Run one command: 0 when it is done, 1 when it failed, 2 when its words cannot be read.
 * Results go to `out`; what went wrong goes to `err`.
 */
export const runCommandLine = async (
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> => {
  if (words.length === 0 || isHelpWord(words[0])) {
    terminal.out(overview(commands))
    return words.length === 0 ? 2 : 0
  }
  if (words[0] === '--version') {
    terminal.out(`${version}\n`)
    return 0
  }
  const group = groupOf(words)
  if (group.length > 0 && (words.length === 1 || isHelpWord(words[1]))) {
    terminal.out(overview(group))
    return words.length === 1 ? 2 : 0
  }
  let called: Command | null = null
  try {
    const { command, rest } = findCommand(commands, words)
    called = command
    const outcome = await callCommand(command, rest, variables, terminal)
    return outcome.ok ? 0 : 1
  } catch (error) {
    return complain(error, called, terminal)
  }
}

const callCommand = async (
  command: Command,
  rest: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { out }: Terminal,
): Promise<Outcome> => {
  const { operands, options, isJson, isHelp } = readWords(command, rest)
  if (isHelp) {
    out(commandHelp(command))
    return { text: '', json: null, ok: true }
  }
  const tell = isJson ? () => undefined : (line: string) => out(`${line}\n`)
  const outcome = await command.run({ operands, options, variables, at: presentInstant(), tell })
  if (isJson) out(`${JSON.stringify(outcome.json, null, 2)}\n`)
  else if (outcome.text !== '') out(`${outcome.text}\n`)
  return outcome
}

const complain = (error: unknown, command: Command | null, { err }: Terminal): number => {
  if (error instanceof UsageError) {
    const hint = command === null ? 'npx wattledger --help lists all commands' : usageOf(command)
    err(`wattledger: ${error.message}\n  ${hint}\n`)
    return 2
  }
  if (error instanceof ConfigError) {
    err(`wattledger: ${error.message}\n`)
    return 2
  }
  if (error instanceof CallError) {
    const hint = error.status === null ? '\n  Is the service running? "npm start" starts it; --base-url names another address.' : ''
    err(`wattledger: ${error.message}${hint}\n`)
    return 1
  }
  if (error instanceof CommandError || isFailure(error)) {
    err(`wattledger: ${error.message}\n`)
    return 1
  }
  err(`wattledger: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return 1
}
