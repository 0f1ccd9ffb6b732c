import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createClient } from '@clickhouse/client'
import { Session } from 'chdb'
import { createTable, type Rows } from './limit-records.ts'

/** Storage of rows. An insert resolves when the rows are on disk. */
export type LimitEngine = { readonly insert: (rows: Rows) => Promise<void> }

const columns = 'account, location, device, direction, start, end, energy, price, cost, version'
const settings = 'max_insert_threads=1, max_threads=1, max_partitions_per_insert_block=0'
const config = `<clickhouse>
  <background_pool_size>1</background_pool_size>
  <background_merges_mutations_concurrency_ratio>1</background_merges_mutations_concurrency_ratio>
  <merge_tree>
    <fsync_after_insert>1</fsync_after_insert>
    <fsync_part_directory>1</fsync_part_directory>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>0</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>0</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>
</clickhouse>
`

/** Open embedded ClickHouse in a folder. It reads the rows of each insert from a file. */
export const openChdbLimit = async (folder: string): Promise<LimitEngine> => {
  mkdirSync(join(folder, 'engine'), { recursive: true })
  writeFileSync(join(folder, 'engine.xml'), config)
  const session = new Session(join(folder, 'engine'), {
    connectionArgs: [`--config-file=${join(folder, 'engine.xml')}`],
  })
  const file = join(folder, 'insert.native')
  await session.queryAsync(createTable)
  return {
    insert: async ({ bytes }) => {
      await writeFile(file, bytes)
      await session.queryAsync(
        `INSERT INTO limit_cost (${columns}) SETTINGS ${settings} SELECT ${columns} FROM file('${file}', 'Native')`,
      )
    },
  }
}

/** Open ClickHouse over HTTP. */
export const openHttpLimit = async (url: string): Promise<LimitEngine> => {
  const client = createClient({ url })
  await client.command({ query: createTable })
  const query = `INSERT INTO limit_cost (${columns}) SETTINGS ${settings} FORMAT Native`
  return {
    insert: async ({ bytes }) => {
      const { stream } = await client.exec({ query, values: Readable.from([bytes]) })
      for await (const _ of stream);
    },
  }
}
