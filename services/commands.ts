import type { Command, CommandGroup, CommandSubject } from './command-line/command.ts'
import { accountCommands } from './command-line/commands/account-commands.ts'
import { auditLogCommands } from './command-line/commands/audit-log-commands.ts'
import { deadLetterCommands } from './command-line/commands/dead-letter-commands.ts'
import { doctorCommand } from './command-line/commands/doctor-command.ts'
import { eraseCommand } from './command-line/commands/erase-command.ts'
import { forecastCommands } from './command-line/commands/forecast-commands.ts'
import { keyCommands } from './command-line/commands/key-commands.ts'
import { marketCommands } from './command-line/commands/market-commands.ts'
import { migrateCommand } from './command-line/commands/migrate-command.ts'
import { moveCommand } from './command-line/commands/move-command.ts'
import { pricesCommand } from './command-line/commands/price-command.ts'
import { scheduleCommand } from './command-line/commands/schedule-command.ts'
import { simulateCommand } from './command-line/commands/simulate-command.ts'
import { topicsCommand } from './command-line/commands/topics-command.ts'
import { userCommands } from './command-line/commands/user-commands.ts'
import { providerCommands } from './connect/commands/provider-commands.ts'
import { exportCommands } from './interchange/commands/export-commands.ts'
import { importCommands } from './interchange/commands/import-commands.ts'

const single = (command: Command): CommandGroup => ({ name: command.name, commands: [command] })

const group = (name: string, summary: string, commands: readonly Command[]): CommandGroup => {
  const [first, ...others] = commands
  if (first === undefined) throw new Error(`The group ${name} has no command.`)
  return { name, summary, commands: [first, ...others] }
}

/** All commands by subject, in the order of the help. */
export const commandSubjects: readonly CommandSubject[] = [
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
