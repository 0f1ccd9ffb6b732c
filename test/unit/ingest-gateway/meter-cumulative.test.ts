import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { registerIdentityText } from '../../../services/domain/identifier.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import type { ReadingPart } from '../../../services/platform/log/messages.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import {
  type AppendedMessage,
  callAs,
  headersOf,
  makeObjects,
  openGateway,
  readPartitions,
} from '../../support/metering/gateway.ts'
import { call, deviceId, gateway, live, locationId, useGateway } from '../../support/metering/submissions.ts'
import { makeTenants } from '../../support/stores/postgres.ts'

useGateway()

const path = '/meters/cumulative/epoch'
const start = Math.floor(currentInstant() / 1000) - 86_400
const readings = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ time: start + index, value: index + 0.25 }))
const body = (change: object = {}) => ({ location_id: locationId, units: 'WH', data: readings(2), ...change })

const submit = async (sent: unknown, headers = {}) => {
  const answer = await call('PUT', path, sent, headers)
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)])
  return answer.body as {
    readonly id: string
    readonly failed_records: readonly { record_num: number; error: string }[]
  }
}

const partsOf = (written: readonly AppendedMessage[], batchId: string): readonly ReadingPart[] =>
  written.flatMap(({ message }) =>
    message.kind === 'readings' ? message.parts.filter(part => part.batchId === batchId) : [],
  )

describe('readings that are accepted', () => {
  it('are in the partition of their location as they were sent, with the ids of their intervals', async () => {
    const data = [
      { time: start + 900, value: 12.5, record_reference_id: 'quarter ä' },
      { time: start, value: '#1000000000' },
    ]
    const sent = JSON.stringify(
      body({ device_id: deviceId, session_reference_id: 's', units: 'KWH', energy_flow_direction: 'OUTBOUND', data }),
    )
    const batch = await submit(sent.replace('"#1000000000"', '1000000000'))
    expect(batch).toMatchObject({
      object: 'meter_batch',
      records_submitted: 2,
      records_accepted: 2,
      records_processed: 0,
      failed_records: [],
    })
    const written = await readPartitions(gateway)
    const [part, ...others] = partsOf(written, batch.id)
    expect(others).toEqual([])
    const register = { locationId, deviceId, energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' } as const
    const recordId = (openedAt: number) =>
      createHash('sha256')
        .update(registerIdentityText({ ...live, ...register, openedAt }))
        .digest('hex')
        .slice(0, 24)
    const [first, second] = [(start + 900) * 1000, start * 1000]
    expect(part).toEqual({
      accountId: live.accountId,
      liveMode: true,
      batchId: batch.id,
      receivedAt: expect.any(Number),
      ...register,
      sessionReferenceId: 's',
      register: null,
      readings: [
        {
          time: first,
          isRestart: false,
          value: 12_500_000_000n,
          recordReferenceId: 'quarter ä',
          recordNumber: 1,
          recordId: recordId(first),
        },
        {
          time: second,
          isRestart: false,
          value: 10n ** 18n,
          recordReferenceId: null,
          recordNumber: 2,
          recordId: recordId(second),
        },
      ],
    })
    const chunk = written.find(({ message }) => message.kind === 'readings' && message.parts[0]?.batchId === batch.id)
    expect(chunk?.partition).toBe(partitionOf(partitionKey(live.accountId, locationId), 4))
    expect(chunk?.headers).toMatchObject({
      generation: 3,
      batches: [{ ...live, batchId: batch.id, recordNumbers: [1, 2] }],
    })
  })

  it('begin a new meter at the instant of another reading, and withdraw readings', async () => {
    const data = [
      { time: start, value: 5 },
      { time: start, value: 0, restart: true },
      { time: start + 1, value: null },
      { time: start, value: 1, restart: true },
    ]
    const batch = await submit(body({ data }))
    expect(batch.failed_records).toMatchObject([{ record_num: 4, error: 'duplicate of record 2' }])
    const stored = partsOf(await readPartitions(gateway), batch.id).flatMap(part => part.readings)
    expect(stored.map(({ isRestart, value }) => [isRestart, value])).toEqual([
      [false, 5_000_000n],
      [true, 0n],
      [false, null],
    ])
  })

  it('are the same in both API versions', async () => {
    const current = await submit(body({ energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }))
    const earlier = await submit(body({ direction: 'EXPORT', tariff_rate: 'IMPORT' }), { 'api-version': '2024-08-24' })
    const written = await readPartitions(gateway)
    const [one, other] = [current, earlier].map(batch =>
      partsOf(written, batch.id).map(({ batchId: _, receivedAt: __, ...part }) => part),
    )
    expect(one).toEqual(other)
    expect(one).toHaveLength(1)
  })

  it('are at most 10,000, in chunks of 500 with their record numbers, in order', async () => {
    const accepted = gateway.counted.accepted
    const batch = await submit(body({ data: readings(10_000) }))
    expect(gateway.counted.accepted - accepted).toBe(10_000)
    const written = (await readPartitions(gateway)).filter(({ headers }) =>
      headers.batches.some(one => one.batchId === batch.id),
    )
    const numbers = written.map(({ headers }) => headers.batches.flatMap(one => one.recordNumbers))
    expect(numbers.map(one => one.length)).toEqual(Array.from({ length: 20 }, () => 500))
    expect(numbers.flat()).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1))
    expect(partsOf(written, batch.id).flatMap(part => part.readings.map(one => one.recordNumber))).toEqual(
      numbers.flat(),
    )
    expect(new Set(written.map(({ headers }) => headers.chunkId)).size).toBe(20)
    const answer = await call('PUT', path, body({ data: readings(10_001) }))
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([400, 'too_many_records', 'data'])
  })
})

describe('readings that are refused', () => {
  it('are numbered from 1 and stored in the header of their batch; the others are accepted', async () => {
    const data = [
      { time: start, value: 1 },
      { time: start + 1, value: -1, record_reference_id: 'below' },
      { time: start, value: 2 },
      'no reading',
      { time: start + 2, value: 3, session_reference_id: 's' },
      { time: start + 1, value: 3 },
    ]
    const batch = await submit(body({ data }))
    expect(batch).toMatchObject({ records_submitted: 6, records_accepted: 2 })
    expect(batch.failed_records).toEqual([
      { record_num: 2, record_reference_id: 'below', error: 'value must be from 0 to 1000000000000.' },
      { record_num: 3, record_reference_id: null, error: 'duplicate of record 1' },
      { record_num: 4, record_reference_id: null, error: 'A reading must be an object.' },
      {
        record_num: 5,
        record_reference_id: null,
        error: '"session_reference_id" is not known here; did you mean record_reference_id?',
      },
    ])
    const written = await readPartitions(gateway)
    expect(headersOf(written, batch.id)).toMatchObject([{ recordsSubmitted: 6, recordsAccepted: 2 }])
    const clause = ({ error }: { readonly error: string }) => error.replace(/[.]$/, '')
    expect(headersOf(written, batch.id)[0]?.refused.map(clause)).toEqual(batch.failed_records.map(clause))
    expect(partsOf(written, batch.id).flatMap(part => part.readings.map(one => one.recordNumber))).toEqual([1, 6])
  })

  it('leave a header where none is good', async () => {
    const batch = await submit(body({ data: [null] }))
    const written = await readPartitions(gateway)
    expect(headersOf(written, batch.id)).toMatchObject([{ recordsSubmitted: 1, recordsAccepted: 0 }])
    expect(partsOf(written, batch.id)).toEqual([])
  })

  it.each([
    ['an unknown location', { location_id: 'loc_ffffffffffffffffffffffff' }, 'location_not_found', 'location_id'],
    ['a text that is not an id', { location_id: 'home' }, 'location_not_found', 'location_id'],
    ['an unknown device', { device_id: 'dev_ffffffffffffffffffffffff' }, 'device_not_found', 'device_id'],
    ['units of power', { units: 'KW' }, 'field_invalid', 'units'],
    ['no readings', { data: [] }, 'field_invalid', 'data'],
  ])('all go together for %s', async (_, change, code, field) => {
    const answers = [
      await call('PUT', path, body(change)),
      await call('PUT', path, body(change), { 'api-version': '2024-08-24' }),
    ]
    expect(answers.map(one => [one.status, one.body['code'], one.body['field']])).toEqual([
      [400, code, field],
      [409, code, field],
    ])
  })

  it('are all of another account or the other mode', async () => {
    for (const tenant of [(await makeTenants(gateway.database)).live, { ...live, liveMode: false }]) {
      const answer = await callAs(gateway.app, tenant)('PUT', path, body())
      expect([answer.status, answer.body['code']]).toEqual([400, 'location_not_found'])
    }
  })
})

describe('bodies of any kind', () => {
  it('are answered without a fault', async () => {
    const odd = [
      null,
      true,
      1e300,
      'x',
      [],
      [[]],
      {},
      { time: {} },
      { time: start, value: [] },
      { time: 1e300, value: 1e300 },
    ]
    expect(await submit(body({ data: odd }))).toMatchObject({ records_submitted: odd.length, records_accepted: 0 })
    const heads = [
      [],
      7,
      null,
      {},
      body({ data: 'x' }),
      body({ units: {} }),
      body({ device_id: [] }),
      body({ location_id: 'x'.repeat(300) }),
    ]
    for (const one of heads) expect([(await call('PUT', path, one)).status, one]).toEqual([400, one])
    expect(gateway.faults).toEqual([])
  })
})

describe('a log that is full', () => {
  it('answers 503 and acknowledges nothing', async () => {
    await using small = await openGateway({ capacityBytes: 300_000 }, gateway.clickHouse)
    const tenant = (await makeTenants(small.database)).live
    const objects = await makeObjects(small, tenant, 'home')
    const send = () =>
      callAs(small.app, tenant)('PUT', path, body({ location_id: objects.locationId, data: readings(10_000) }))
    const answer = await send()
    expect([answer.status, answer.body['code'], answer.headers.get('retry-after')]).toEqual([503, 'unavailable', '5'])
    const durable = (await readPartitions(small)).flatMap(({ message }) =>
      message.kind === 'readings' ? message.parts : [],
    )
    expect(small.counted.accepted).toBe(durable.flatMap(part => part.readings).length)
    expect(small.counted.accepted).toBeLessThan(10_000)
  })
})
