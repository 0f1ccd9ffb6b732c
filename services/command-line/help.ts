import type { Command, CommandOption } from './command.ts'
import { commonOptions } from './parse-args.ts'
import { columns } from './table.ts'

const program = 'npx wattledger'

const optionName = (name: string, { value, choices }: CommandOption): string => {
  if (value === undefined) return `--${name}`
  return `--${name} ${choices === undefined ? value : choices.join('|')}`
}

/** Return the usage line of a command. */
export const usageOf = (command: Command): string => {
  const options = Object.entries(command.options).map(([name, option]) =>
    option.isRequired ? optionName(name, option) : `[${optionName(name, option)}]`,
  )
  return [program, command.name, ...command.operands, ...options].join(' ')
}

/** Return the help of a command: summary, usage, details and options. */
export const commandHelp = (command: Command): string => {
  const rows = Object.entries({ ...command.options, ...commonOptions }).map(([name, option]) => [
    optionName(name, option),
    option.summary,
  ])
  return `${command.summary}\n\n  ${usageOf(command)}\n\n${command.details.join('\n')}\n\nOptions\n${columns(rows)}\n`
}

/** Return the help of a list of commands, one line each. */
export const commandOverview = (commands: readonly Command[]): string => {
  const rows = commands.map(command => [[command.name, ...command.operands].join(' '), command.summary])
  return [
    'Wattledger turns meter readings into exact money.',
    '',
    `  ${program} COMMAND [--json]`,
    `  ${program} COMMAND --help`,
    `  ${program} --version`,
    '',
    'Commands',
    columns(rows),
    '',
    'Environment variables are those of the service. WATTLEDGER_DATA_DIR is the data folder (default ./data).',
    'WATTLEDGER_POSTGRES_URL is the address of an external PostgreSQL server.',
    '',
    'Exit codes: 0 success, 1 failure, 2 usage error.',
    '',
  ].join('\n')
}
