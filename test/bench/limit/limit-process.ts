/**
 * Limit of P1: a plain pipeline of the same task that shares no code with the product. The process receives submissions
 * with hono, parses them with `JSON.parse` and appends each to the log as one Avro array. Then the process decodes the
 * array, multiplies each energy by a price and stores ten columns. There are no validation, tariffs and receipts.
 *
 * The argument is a JSON object `LimitArguments`. `half` is `all` for the whole pipeline in this process, with LMDB and
 * embedded ClickHouse. It is `log` for submissions that stay in LMDB: the limit of P6. It is `gateway` or `worker` for one
 * half, with Kafka and ClickHouse over HTTP.
 * The process sends `{ port }` when it is ready. It answers each message with `{ stored }`, the number of stored rows.
 */
import { join } from 'node:path'
import { type ServerType, serve } from '@hono/node-server'
import { Hono } from 'hono'
import { type LimitEngine, openChdbLimit, openHttpLimit } from './limit-engines.ts'
import { type LimitLog, openKafkaReader, openKafkaWriter, openLmdbLimit } from './limit-logs.ts'
import { encodeChunk, rowsOf, type SentRecord } from './limit-records.ts'

export type LimitArguments =
  | { readonly half: 'all'; readonly folder: string }
  | { readonly half: 'log'; readonly folder: string }
  | {
      readonly half: 'gateway' | 'worker'
      readonly brokers: readonly string[]
      readonly topic: string
      readonly engineUrl: string
    }

let stored = 0

/** Start to receive submissions, and return the port. */
const takeSubmissions = (append: LimitLog['append']): Promise<number> => {
  const app = new Hono()
  app.put('/meters/interval', async context => {
    const sent = (await context.req.json()) as readonly SentRecord[]
    await append(encodeChunk(sent))
    return context.json({ records_accepted: sent.length })
  })
  return new Promise(resolve => {
    const server: ServerType = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
    server.on('error', error => process.stderr.write(`${error.message}\n`))
  })
}

/** Store all chunks of the log. The next rows are encoded while ClickHouse stores the previous rows. */
const storeAll = async (log: Pick<LimitLog, 'take' | 'commit'>, engine: LimitEngine): Promise<never> => {
  let version = 0
  let storing = Promise.resolve()
  for (;;) {
    const rows = rowsOf(await log.take(), version)
    version += rows.count
    await storing
    storing = engine.insert(rows).then(() => {
      stored += rows.count
      return log.commit()
    })
  }
}

const start = async (given: LimitArguments): Promise<number> => {
  if (given.half === 'all') {
    const log = openLmdbLimit(join(given.folder, 'log'))
    void storeAll(log, await openChdbLimit(join(given.folder, 'rows')))
    return takeSubmissions(log.append)
  }
  if (given.half === 'log') return takeSubmissions(openLmdbLimit(join(given.folder, 'log')).append)
  if (given.half === 'gateway') return takeSubmissions(openKafkaWriter(given.brokers, given.topic))
  void storeAll(await openKafkaReader(given.brokers, given.topic), await openHttpLimit(given.engineUrl))
  return 0
}

process.on('message', () => process.send?.({ stored }))
process.once('disconnect', () => process.exit(0))
process.send?.({ port: await start(JSON.parse(process.argv[2] ?? '') as LimitArguments) })
