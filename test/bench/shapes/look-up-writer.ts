import type { Message } from '@platformatic/kafka'
import pg from 'pg'
import { inParallel } from '../../support/system/in-parallel.ts'
import type { SentRecord, ShapeSettings } from './settings.ts'
import { inBatches, readTopic } from './topic-reader.ts'
import { insertUsage, type UsageRow, usageRow } from './usage-table.ts'

const rowsPerFlush = 500
const flushMs = 2_000
const connections = 8

/** Statements that create the tables for look-ups. Prices are in 1e-9 per kWh. */
export const lookUpTables = [
  'CREATE TABLE shape_price (location_id text PRIMARY KEY, price bigint NOT NULL)',
  'CREATE TABLE shape_seen (id text PRIMARY KEY)',
]

const lookUp = {
  name: 'look-up',
  text: 'SELECT price, EXISTS (SELECT FROM shape_seen WHERE id = $2) AS seen FROM shape_price WHERE location_id = $1',
}

/** Write batches of 500 rows: look up each record, insert the new records, save their keys, commit. */
export const lookUpWriter = async ({ brokers, topic, group, engineUrl, postgresUrl }: ShapeSettings): Promise<void> => {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: connections })
  const reader = await readTopic(brokers, topic, group)
  for await (const batch of inBatches<Message>(reader.messages, rowsPerFlush, flushMs)) {
    const fresh = new Map<string, UsageRow>()
    await inParallel(batch, connections, async ({ value }) => {
      const sent = JSON.parse(value.toString()) as SentRecord
      const id = `${sent.device_id} ${sent.start_time}`
      const { rows } = await pool.query<{ price: string; seen: boolean }>({ ...lookUp, values: [sent.location_id, id] })
      if (rows[0]?.seen === false) fresh.set(id, usageRow(sent, BigInt(rows[0].price)))
    })
    if (fresh.size > 0) {
      await insertUsage(engineUrl, [...fresh.values()])
      await pool.query('INSERT INTO shape_seen SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [[...fresh.keys()]])
    }
    await reader.commit(batch)
  }
}
