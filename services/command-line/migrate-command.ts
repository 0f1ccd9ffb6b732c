import { migrate } from '../platform/postgres/migrate.ts'
import { type Command, done } from './command.ts'
import { withRecords } from './open-database.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  operands: [],
  summary: 'Bring the PostgreSQL schema up to this version.',
  details:
    'Applies every numbered file of schemas/postgres that the database lacks, each in a transaction of its own. The service does the same\nwhen it starts; run this first where the service itself may not change the schema. Running it again does nothing.',
  options: {},
  run: input =>
    withRecords(input, { mayMake: true }, async ({ address }) => {
      const applied = await migrate(address)
      const text = applied.length === 0 ? 'The schema is up to date.' : applied.map(name => `applied ${name}`).join('\n')
      return done(text, { applied })
    }),
}
