import { currentInstant } from '../platform/clock.ts'
import { ConfigError, isFailure } from '../platform/failure.ts'
import { fileErrorText } from '../platform/file-error.ts'
import { version } from '../platform/version.ts'
import {
  type Command,
  CommandError,
  type CommandOption,
  type CommandOutcome,
  type CommandSubject,
  commandsOf,
  UsageError,
} from './command.ts'
import { examples } from './examples.ts'
import { commonOptions, findCommand, parseArguments } from './parse-args.ts'
import { CallError } from './service-client.ts'
import { columns } from './table.ts'

const program = 'npx wattledger'

const optionName = (name: string, { value, choices }: CommandOption): string => {
  if (value === undefined) return `--${name}`
  return `--${name} ${choices === undefined ? value : choices.join('|')}`
}

/** Return the usage line of a command. */
const usageOf = (command: Command): string => {
  const options = Object.entries(command.options).map(([name, option]) =>
    option.isRequired ? optionName(name, option) : `[${optionName(name, option)}]`,
  )
  return [program, command.name, ...command.operands, ...options].join(' ')
}

/** Return an example of a command. */
const exampleOf = ({ name }: Command): string => `${program} ${examples[name] ?? name}`

/** Return the help of a command: summary, usage, details and options. */
const commandHelp = (command: Command): string => {
  const rows = Object.entries({ ...command.options, ...commonOptions }).map(([name, option]) => [
    optionName(name, option),
    option.summary,
  ])
  return `${command.summary}\n\n  ${usageOf(command)}\n\n${command.details.join('\n')}\n\nExample\n  ${exampleOf(command)}\n\nOptions\n${columns(rows)}\n`
}

const commandRow = ({ name, operands, summary }: Command): readonly string[] => [[name, ...operands].join(' '), summary]

/** Return the help of the program: one line for each group of commands, by subject. It fits 24 lines with the prompt. */
const programHelp = (subjects: readonly CommandSubject[]): string => {
  const rows = subjects.flatMap(({ subject, groups }) =>
    groups.map(({ name, summary, commands: [command] }, index) => [
      index === 0 ? subject : '',
      command.name === name ? [name, ...command.operands].join(' ') : `${name} …`,
      summary ?? command.summary,
    ]),
  )
  return [
    'Wattledger turns meter readings into exact money.',
    `  ${program} COMMAND [--json | --help]    also for a group: "account --help"`,
    '',
    columns(rows),
    'Settings are those of the service; WATTLEDGER_DATA_DIR is the data folder.',
    'Exit codes: 0 success, 1 failure, 2 usage error, 3 in part, 130 interrupted.',
    '',
  ].join('\n')
}

/** Return the help of a group of commands, one line each. */
const groupHelp = (commandsOfGroup: readonly Command[]): string =>
  [
    `  ${program} COMMAND [--json]`,
    `  ${program} COMMAND --help`,
    '',
    'Commands',
    columns(commandsOfGroup.map(commandRow)),
    '',
  ].join('\n')

/** Standard output and standard error; each text includes its line ends. */
type Terminal = {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** True if a person reads standard error. */
  readonly isTerminal?: boolean
  /** Ask a person for a line; absent if nobody can answer. */
  readonly ask?: (question: string) => Promise<string>
}

/** List the commands of a group, such as `account`. */
const commandGroup = (commands: readonly Command[], args: readonly string[]): readonly Command[] =>
  commands.filter(({ name }) => name.startsWith(`${args[0]} `))

const isHelpArgument = (arg: string | undefined): boolean => arg === '--help' || arg === '-h' || arg === 'help'

/**
 * Run one command of `subjects` and return its exit code: 0 success, 1 failure, 2 usage error.
 * Results go to `out`, error messages to `err`.
 */
export const runCommandLine = async (
  subjects: readonly CommandSubject[],
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> => {
  if (args.length === 0 || isHelpArgument(args[0])) {
    terminal.out(programHelp(subjects))
    return args.length === 0 ? 2 : 0
  }
  if (args[0] === '--version') {
    terminal.out(`${version}\n`)
    return 0
  }
  const commands = commandsOf(subjects)
  const commandsOfGroup = commandGroup(commands, args)
  if (commandsOfGroup.length > 0 && (args.length === 1 || isHelpArgument(args[1]))) {
    terminal.out(groupHelp(commandsOfGroup))
    return args.length === 1 ? 2 : 0
  }
  let calledCommand: Command | null = null
  try {
    const { command, remainingArgs } = findCommand(commands, args)
    calledCommand = command
    const outcome = await runCommand(command, remainingArgs, variables, terminal)
    return outcome.exitCode ?? (outcome.ok ? 0 : 1)
  } catch (error) {
    return reportError(error, calledCommand, terminal)
  }
}

const runCommand = async (
  command: Command,
  remainingArgs: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { out, err, isTerminal = false, ask }: Terminal,
): Promise<CommandOutcome> => {
  const { operands, options, isJson, isHelp } = parseArguments(command, remainingArgs)
  if (isHelp) {
    out(commandHelp(command))
    return { text: '', json: null, ok: true }
  }
  const onProgress = isJson ? () => undefined : (line: string) => out(`${line}\n`)
  const status = { write: err, isTerminal }
  const confirm =
    ask === undefined || isJson ? null : async (question: string) => /^y(es)?$/i.test((await ask(question)).trim())
  const outcome = await command.run({ operands, options, variables, at: currentInstant(), onProgress, status, confirm })
  if (isJson) out(`${JSON.stringify(outcome.json, null, 2)}\n`)
  else if (outcome.text !== '') out(`${outcome.text}\n`)
  return outcome
}

const reportError = (error: unknown, command: Command | null, { err }: Terminal): number => {
  if (error instanceof UsageError) {
    const hint =
      command === null
        ? `Run "${program} --help" to list all commands.`
        : `Example: ${exampleOf(command)}\n  All options: ${program} ${command.name} --help`
    err(`wattledger: ${error.message}\n  ${hint}\n`)
    return 2
  }
  if (error instanceof ConfigError) {
    err(`wattledger: ${error.message}\n`)
    return 2
  }
  if (error instanceof CallError) {
    const hint =
      error.status === null ? '\n  Start the service with "npm start", or set its address with --base-url.' : ''
    err(`wattledger: ${error.message}${hint}\n`)
    return 1
  }
  if (error instanceof CommandError || isFailure(error)) {
    err(`wattledger: ${error.message}\n`)
    return 1
  }
  const fileReason = error instanceof Error ? fileErrorText(error) : null
  err(`wattledger: ${fileReason ?? (error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`)
  return 1
}
