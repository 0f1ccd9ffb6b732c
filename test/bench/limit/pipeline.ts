import { join } from 'node:path'
import { openLaneBuffer } from '../../../services/cost-worker/lane-buffer.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { presentInstant } from '../../../services/platform/clock.ts'
import { openCodec } from '../../../services/platform/log/codec.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb-log.ts'
import { localSchemaIds } from '../../../services/platform/log/schema-ids.ts'
import { serveBare, workBare } from './bare-parts.ts'

/** The bare pipeline on embedded parts. Forked with a folder; sends its port, then its stored rows for every message it gets. */
const folder = process.argv[2] ?? ''
const clickHouse = openChdb({ folder: join(folder, 'clickhouse') })
await applySchemas(clickHouse, schemaFiles())
const log = await openLmdbLog({ folder: join(folder, 'log'), now: presentInstant })
const codec = await openCodec(localSchemaIds())
const stored = workBare(await openLaneBuffer(log, 'cost-worker'), codec, clickHouse)
const port = await serveBare(log, codec)
process.on('message', () => process.send?.({ stored: stored() }))
process.once('disconnect', () => process.exit(0))
process.send?.({ port })
