import '../../../../../services/thread-pool.mjs'
import { join } from 'node:path'
import { openChdb } from '../../../../../services/platform/clickhouse/chdb.ts'
import { openLmdbLog } from '../../../../../services/platform/log/lmdb/lmdb-log.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'

// Appends to a log while all sessions of an engine are busy for 2 s. Sends the time of the append in ms, and the number
// of statements that ended before it.
const [folder = ''] = process.argv.slice(2)
const db = openChdb({ folder: join(folder, 'engine') })
const log = await openLmdbLog({ folder: join(folder, 'log'), now: () => Date.now() })
const append = () => log.append(recordTopic, 0, { key: '', value: Buffer.from('record'), headers: {} })
await append()
const slow = 'SELECT sleep(2)'
let ended = 0
const statements = [db.command(slow), db.rows(slow), db.rows(slow), db.rows(slow)].map(statement =>
  statement.then(() => {
    ended += 1
  }),
)
const startedAt = performance.now()
await append()
process.send?.({ ms: performance.now() - startedAt, ended })
await Promise.all(statements)
await log.close()
await db.close()
process.disconnect()
