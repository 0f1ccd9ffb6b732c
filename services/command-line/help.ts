import type { Command, CommandOption } from './command.ts'
import { commonOptions } from './parse-args.ts'
import { columns } from './table.ts'

const program = 'npx wattledger'

const optionName = (name: string, { value, choices }: CommandOption): string => {
  if (value === undefined) return `--${name}`
  return `--${name} ${choices === undefined ? value : choices.join('|')}`
}

/** The one line that shows how a command is written. */
export const usageOf = (command: Command): string => {
  const options = Object.entries(command.options).map(([name, option]) =>
    option.isRequired ? optionName(name, option) : `[${optionName(name, option)}]`,
  )
  return [program, command.name, ...command.operands, ...options].join(' ')
}

/** Help for one command: how it is written, what it does, its options. */
export const commandHelp = (command: Command): string => {
  const rows = Object.entries({ ...command.options, ...commonOptions }).map(([name, option]) => [
    optionName(name, option),
    option.summary,
  ])
  return `${command.summary}\n\n  ${usageOf(command)}\n\n${command.details}\n\nOptions\n${columns(rows)}\n`
}

/** Help for a list of commands: one line each. */
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
    'Settings come from the environment, as those of the service: WATTLEDGER_DATA_DIR names the data folder (./data),',
    'WATTLEDGER_POSTGRES_URL a PostgreSQL of your own. Ends with 0 when done, 1 when it failed, 2 when the words are wrong.',
    '',
  ].join('\n')
}
