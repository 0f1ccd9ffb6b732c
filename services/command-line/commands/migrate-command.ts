import { readFileSync } from 'node:fs'
import { applySchemas, schemaFiles } from '../../platform/clickhouse/schemas.ts'
import type { Config } from '../../platform/config/config.ts'
import { migrate } from '../../platform/postgres/migrate.ts'
import { type Command, success } from '../command.ts'
import { withPostgres } from '../open-database.ts'

/** Apply the schemas of an external ClickHouse server. The service does it for the embedded engine. */
const migrateClickHouse = async ({ clickHouse }: Config): Promise<readonly string[]> => {
  if (clickHouse === null) return []
  const { openClickHouseHttp } = await import('../../platform/clickhouse/clickhouse-http.ts')
  const { caFile, ...server } = clickHouse
  const clickHouseClient = openClickHouseHttp({ ...server, ca: caFile === null ? null : readFileSync(caFile, 'utf8') })
  try {
    return await applySchemas(clickHouseClient, schemaFiles(), clickHouse.isReplicated)
  } finally {
    await clickHouseClient.close()
  }
}

export const migrateCommand: Command = {
  name: 'migrate',
  operands: [],
  summary: 'Migrate the schemas of PostgreSQL, ClickHouse.',
  details: [
    'Applies the missing files of schemas/postgres, each in its own transaction.',
    'With WATTLEDGER_CLICKHOUSE_URL it also applies schemas/clickhouse.',
    'The service applies them at its start. Run the command first if the service may not change schemas.',
    'A second run changes nothing.',
  ],
  options: {},
  run: input =>
    withPostgres(input, { mayCreate: true }, async ({ address, config }) => {
      const applied = [...(await migrate(address)), ...(await migrateClickHouse(config))]
      const text =
        applied.length === 0 ? 'The schema is up to date.' : applied.map(name => `applied ${name}`).join('\n')
      return success(text, { applied })
    }),
}
