import { openLaneBuffer } from '../../../services/cost-worker/lane-buffer.ts'
import { presentInstant } from '../../../services/platform/clock.ts'
import { openCodec } from '../../../services/platform/log/codec.ts'
import { openKafkaLog } from '../../../services/platform/log/kafka/kafka-log.ts'
import { localSchemaIds } from '../../../services/platform/log/schema-ids.ts'
import { plainAddress } from '../../support/kafka/test-log.ts'
import { engineAt } from '../distributed/distributed-system.ts'
import { serveBare, workBare } from './bare-parts.ts'

/**
 * One half of the bare pipeline on distributed parts: `gateway` or `worker`, brokers, prefix of topics, address of the engine. Sends its
 * port, then its stored rows for every message it gets.
 */
const [half = '', brokers = '', prefix = '', engineUrl = ''] = process.argv.slice(2)
const log = await openKafkaLog({ address: plainAddress(brokers.split(',')), prefix, now: presentInstant })
const codec = await openCodec(localSchemaIds())
const isWorker = half === 'worker'
const stored = isWorker ? workBare(await openLaneBuffer(log, 'cost-worker'), codec, engineAt(engineUrl)) : () => 0
const port = isWorker ? 0 : await serveBare(log, codec)
process.on('message', () => process.send?.({ stored: stored() }))
process.once('disconnect', () => process.exit(0))
process.send?.({ port })
