import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openCodec } from '../../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../../services/platform/log/avro/schema-ids.ts'
import {
  eventKey,
  eventMessage,
  eventOfPayload,
  eventPartition,
} from '../../../../services/platform/log/event-message.ts'

const codec = await openCodec(localSchemaIds())
const word = fc.oneof(fc.string(), fc.constantFrom('"data":', '"data" : {}', '}'))
const event = fc.record({
  eventId: word,
  type: fc.string(),
  accountId: fc.string(),
  liveMode: fc.boolean(),
  objectId: fc.option(word),
  timeCreated: fc.integer({ min: 0, max: 2 ** 45 }),
  data: fc.oneof(fc.json(), fc.constantFrom('{"value":0.1234567890123456789}', '{"data":{"data":1.50}}')),
})

it('an event passes outbox and log unchanged, with all digits of its data', async () => {
  await fc.assert(
    fc.asyncProperty(event, async one => {
      // As PostgreSQL writes it: members in order, spaces around the colons, data unchanged.
      const members = Object.entries({
        id: one.eventId,
        type: one.type,
        account_id: one.accountId,
        live_mode: one.liveMode,
        object_id: one.objectId,
        time_created: one.timeCreated,
      })
      const payload = `{${members.map(([name, value]) => `"${name}" : ${JSON.stringify(value)}`).join(', ')}, "data" : ${one.data}}`
      const read = eventOfPayload(payload)
      expect(read).toEqual({ ...one, data: one.data.trim() })
      expect(await codec.decodeEvent(eventMessage(codec, read, 7).value)).toEqual(read)
    }),
  )
  expect(() => eventOfPayload('{"id" : "evt_1"}')).toThrow(SyntaxError)
})

it('events of one object of an account share a partition', () => {
  const of = {
    eventId: 'evt_1',
    type: 'a',
    accountId: 'acc_1',
    liveMode: true,
    objectId: 'cus_1',
    timeCreated: 0,
    data: '{}',
  }
  expect(eventPartition({ ...of, eventId: 'evt_2' }, 8)).toBe(eventPartition(of, 8))
  expect([eventKey(of), eventKey({ ...of, objectId: null })]).toEqual(['acc_1:cus_1', 'acc_1:evt_1'])
})
