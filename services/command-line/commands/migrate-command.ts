import { readFileSync } from 'node:fs'
import { applySchemas, schemaFiles } from '../../platform/clickhouse/schemas.ts'
import type { Config } from '../../platform/config/config.ts'
import { migrate } from '../../platform/postgres/migrate.ts'
import { type Command, success } from '../command.ts'
import { withPostgres } from '../open-database.ts'

/** The tables of a server; the embedded engine has its own when the service starts. */
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
  summary: 'Bring the schemas of PostgreSQL, and of a ClickHouse server, up to this version.',
  details:
    'Applies every numbered file of schemas/postgres that the database lacks, each in a transaction of its own, and of schemas/clickhouse\nwhere WATTLEDGER_CLICKHOUSE_URL names a server. The service does the same when it starts; run this first where the service itself may\nnot change the schema. Running it again does nothing.',
  options: {},
  run: input =>
    withPostgres(input, { mayCreate: true }, async ({ address, config }) => {
      const applied = [...(await migrate(address)), ...(await migrateClickHouse(config))]
      const text =
        applied.length === 0 ? 'The schema is up to date.' : applied.map(name => `applied ${name}`).join('\n')
      return success(text, { applied })
    }),
}
