import type { Command } from './command.ts'
import { accountCommands } from './commands/account-commands.ts'
import { auditLogCommands } from './commands/audit-log-commands.ts'
import { deadLetterCommands } from './commands/dead-letter-commands.ts'
import { doctorCommand } from './commands/doctor-command.ts'
import { eraseCommand } from './commands/erase-command.ts'
import { exportCommands } from './commands/export-commands.ts'
import { forecastCommands } from './commands/forecast-commands.ts'
import { importCommands } from './commands/import-commands.ts'
import { keyCommands } from './commands/key-commands.ts'
import { marketCommands } from './commands/market-commands.ts'
import { migrateCommand } from './commands/migrate-command.ts'
import { moveCommand } from './commands/move-command.ts'
import { pricesCommand } from './commands/price-command.ts'
import { providerCommands } from './commands/provider-commands.ts'
import { scheduleCommand } from './commands/schedule-command.ts'
import { simulateCommand } from './commands/simulate-command.ts'
import { topicsCommand } from './commands/topics-command.ts'
import { userCommands } from './commands/user-commands.ts'

/** Commands with the same first word. `summary` is required if the group has several commands. */
type CommandGroup = {
  readonly name: string
  readonly summary?: string
  readonly commands: readonly [Command, ...Command[]]
}

const single = (command: Command): CommandGroup => ({ name: command.name, commands: [command] })

const group = (name: string, summary: string, commands: readonly Command[]): CommandGroup => {
  const [first, ...others] = commands
  if (first === undefined) throw new Error(`The group ${name} has no command.`)
  return { name, summary, commands: [first, ...others] }
}

/** All commands by subject, in the order of the help. */
export const commandSubjects: readonly { readonly subject: string; readonly groups: readonly CommandGroup[] }[] = [
  {
    subject: 'Files',
    groups: [
      group('import', 'Import readings, objects and tariffs.', importCommands),
      group('export', 'Export records, costs and objects to files.', exportCommands),
    ],
  },
  {
    subject: 'Costs',
    groups: [
      single(pricesCommand),
      single(scheduleCommand),
      single(simulateCommand),
      group('forecast', 'Measure price forecasts with past prices.', forecastCommands),
    ],
  },
  {
    subject: 'Prices',
    groups: [
      group('markets', 'List, fetch and import market prices.', marketCommands),
      group('providers', 'List and import suppliers; list wrong tariffs.', providerCommands),
    ],
  },
  {
    subject: 'Accounts',
    groups: [
      group('account', 'Create, list, change and disable accounts.', accountCommands),
      group('keys', 'Create, list and revoke API keys.', keyCommands),
      group('users', 'Create the first owner, list and reset users.', userCommands),
      group('audit-log', 'List and verify the log of changes.', auditLogCommands),
      single(eraseCommand),
    ],
  },
  {
    subject: 'Operation',
    groups: [
      single(doctorCommand),
      group('dead-letters', 'List, show and replay failed messages.', deadLetterCommands),
      single(migrateCommand),
      single(topicsCommand),
      single(moveCommand),
    ],
  },
]

export const commands: readonly Command[] = commandSubjects.flatMap(({ groups }) =>
  groups.flatMap(({ commands: commandsOfGroup }) => commandsOfGroup),
)
