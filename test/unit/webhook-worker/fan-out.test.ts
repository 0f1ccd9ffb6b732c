import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { Failure } from '../../../services/platform/failure.ts'
import { type Codec, openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { eventMessage } from '../../../services/platform/log/event-message.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { eventTopic } from '../../../services/platform/log/log.ts'
import { writeEvents } from '../../../services/platform/postgres/events/events.ts'
import { changeTenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { listDeliveries } from '../../../services/platform/postgres/webhooks/webhook-deliveries.ts'
import { createEndpoint } from '../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { startFanOut } from '../../../services/webhook-worker/fan-out.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { endpointDraft } from '../../support/registry/drafts.ts'
import { makeTenants, makeTestFolder, openTestDatabase } from '../../support/stores/postgres.ts'
import { until } from '../../support/system/until.ts'

const at = 1_760_000_000_000
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const logger = createLogger('error')
logger.level = 'silent'

/** A codec whose registry is away for the first readings. */
const awayAtFirst = (codec: Codec, times: number): Pick<Codec, 'decodeEvent'> => {
  let left = times
  return {
    decodeEvent: bytes => {
      left -= 1
      if (left >= 0) throw new Failure('registry_away', 'The registry does not answer.', { retriable: true })
      return codec.decodeEvent(bytes)
    },
  }
}

it('an event waits for an unavailable registry, and an unreadable event does not stop later ones', async () => {
  const { database } = stack.use(await openTestDatabase())
  const folder = stack.adopt(makeTestFolder(), path => rmSync(path, { recursive: true }))
  const log = await openLmdbLog({ folder, now: () => Date.now(), topics: { [eventTopic]: { partitions: 1 } } })
  stack.adopt(log, one => one.close())
  const codec = await openCodec(localSchemaIds())
  const { test: tenant } = await makeTenants(database)
  const endpoint = await changeTenant(database, tenant, transaction => createEndpoint(transaction, endpointDraft(), at))
  const { id: endpointId } = acceptedValue(endpoint)
  const drafts = [1, 2].map(place => ({ type: 'customer.create', objectId: `cus_${place}`, data: { place } }))
  const events = await withTenant(database, tenant, transaction => writeEvents(transaction, drafts, at))
  const [first, second] = events.map(({ id, type, objectId }) =>
    eventMessage(codec, { ...tenant, eventId: id, type, objectId, timeCreated: at, data: '{}' }, 2 ** 40),
  )
  if (first === undefined || second === undefined) throw new Error('two events were written')
  for (const message of [first, { key: 'garbage', value: Buffer.from('not an event'), headers: {} }, second]) {
    await log.append(eventTopic, 0, message)
  }
  stack.use(
    await startFanOut({ log, codec: awayAtFirst(codec, 2), database, logger, at: () => at, onQueued: () => undefined }),
  )
  const listed = await until(
    () =>
      withTenant(database, tenant, one =>
        listDeliveries(
          one,
          endpointId,
          { status: null, eventId: null },
          { limit: 10, startingAfter: null, endingBefore: null },
        ),
      ),
    list => list.ok && list.value.items.length === 2,
  )
  expect(listed.ok ? listed.value.items.map(({ eventId }) => eventId).toSorted() : []).toEqual(
    events.map(({ id }) => id).toSorted(),
  )
})
