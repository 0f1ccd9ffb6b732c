import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { publishEvents } from '../../../services/background/event-relay.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
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

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const hourMs = 3_600_000
const noon = 1_760_000_000_000

it('an endpoint receives exactly the events after its creation, whatever the clocks say, also if they are published twice', async () => {
  const { database } = stack.use(await openTestDatabase())
  const folder = stack.adopt(makeTestFolder(), path => rmSync(path, { recursive: true }))
  const log = await openLmdbLog({ folder, now: () => Date.now(), topics: { [eventTopic]: { partitions: 1 } } })
  stack.adopt(log, one => one.close())
  const codec = await openCodec(localSchemaIds())
  const { live, test: tenant } = await makeTenants(database)

  const write = async (at: number, owner = tenant): Promise<string> => {
    const drafts = [{ type: 'customer.create', objectId: `cus_${at}`, data: {} }]
    const [event] = await withTenant(database, owner, transaction => writeEvents(transaction, drafts, at))
    return event?.id ?? expect.fail('no event')
  }
  const createAt = async (at: number): Promise<string> =>
    acceptedValue(await changeTenant(database, tenant, transaction => createEndpoint(transaction, endpointDraft(), at)))
      .id

  // The clock jumps between each two changes: ahead, back, far back.
  await write(noon)
  await write(noon + hourMs)
  const first = await createAt(noon)
  const between = [await write(noon - hourMs), await write(noon + 24 * hourMs)]
  const second = await createAt(noon - 10_000)
  const last = [await write(noon - 365 * 24 * hourMs), await write(noon + 10_000)]
  const marker = await write(noon - 3 * hourMs)
  await write(noon + hourMs, live)

  // The first relay ends before it deletes its messages from the outbox.
  const relay = { database, log, codec, onPublished: () => undefined }
  const operator: typeof database.operator = statement =>
    statement.sql.startsWith('delete') ? Promise.reject(new Error('killed')) : database.operator(statement)
  await expect(publishEvents({ ...relay, database: { operator } })).rejects.toThrow('killed')
  await publishEvents(relay)
  const logger = createLogger('error')
  stack.use(await startFanOut({ log, codec, database, logger, at: () => noon, onQueued: () => undefined }))

  const received = async (endpointId: string): Promise<readonly string[]> => {
    const paging = { limit: 100, startingAfter: null, endingBefore: null }
    const list = await withTenant(database, tenant, one =>
      listDeliveries(one, endpointId, { status: null, eventId: null }, paging),
    )
    return acceptedValue(list).items.map(({ eventId }) => eventId)
  }
  await until(
    () => received(second),
    list => list.includes(marker),
  )
  expect((await received(first)).toSorted()).toEqual([...between, ...last, marker].toSorted())
  expect((await received(second)).toSorted()).toEqual([...last, marker].toSorted())
})
