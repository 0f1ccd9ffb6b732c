import { afterAll, describe, expect, it } from 'vitest'
import { openProbe } from '../../support/http/limit-probe.ts'

const mebibyte = 2 ** 20

const probe = await openProbe()
const { client, fixture, statusOf, record, submitElements: submitted } = probe
afterAll(() => probe[Symbol.asyncDispose]())

/** Return the text of a record with a raw number as its value. */
const recordOf = (value: string): string =>
  JSON.stringify(record({ value: 0 })).replace('"value":0', `"value":${value}`)

describe('the size of a body', () => {
  const padded = (text: string, bytes: number): string => text + ' '.repeat(bytes - Buffer.byteLength(text))

  it('is at most 16 MiB for submissions and 1 MiB for others', async () => {
    const submission = JSON.stringify([record()])
    expect(await statusOf('PUT', '/meters/interval', padded(submission, 16 * mebibyte))).toBe(200)
    expect(await statusOf('PUT', '/meters/interval', padded(submission, 16 * mebibyte + 1))).toEqual([
      413,
      'body_too_large',
    ])
    const prices = JSON.stringify([
      { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T10:15:00Z', value: 0.08 },
    ])
    expect(await statusOf('PUT', `/markets/${fixture.market}/prices`, padded(prices, 16 * mebibyte))).toBe(200)
    expect(await statusOf('PUT', `/markets/${fixture.market}/prices`, padded(prices, 16 * mebibyte + 1))).toEqual([
      413,
      'body_too_large',
    ])
    for (const [method, path, body, status] of [
      ['POST', '/customers', '{}', 201],
      ['PATCH', `/customers/${fixture.customer}`, '{}', 202],
    ] as const) {
      expect([path, await statusOf(method, path, padded(body, mebibyte))]).toEqual([path, status])
      expect([path, await statusOf(method, path, padded(body, mebibyte + 1))]).toEqual([path, [413, 'body_too_large']])
    }
  })

  it('of an instant cost, which has one record, is at most 8 KiB', async () => {
    const body = JSON.stringify(record())
    expect(await statusOf('POST', '/costs/instant?non_persistent=true', padded(body, 8_192))).toBe(200)
    expect(await statusOf('POST', '/costs/instant?non_persistent=true', padded(body, 8_193))).toEqual([
      413,
      'body_too_large',
    ])
  })

  it('of one record is at most 8 KiB, and a longer record fails alone', async () => {
    const sized = (bytes: number, at: number): string => {
      const text = JSON.stringify(record({ record_reference_id: `sized-${at}` }))
      return `${text.slice(0, -1)}${' '.repeat(bytes - Buffer.byteLength(text))}}`
    }
    expect(await submitted([sized(8_192, 1), sized(8_193, 2), sized(8_192, 3)])).toEqual([
      2,
      ['2 A record must have at most 8192 bytes.'],
    ])
    const lines = [sized(8_192, 4), sized(8_193, 5)].join('\n')
    const { json } = await client.send('PUT', '/meters/interval', lines, { 'Content-Type': 'application/x-ndjson' })
    expect((json as { readonly failed_records: unknown }).failed_records).toMatchObject([{ record_num: 2 }])
  })

  it('is at most 32 levels deep', async () => {
    // The list and the record are two levels.
    const nested = (levels: number): string => recordOf('['.repeat(levels - 2) + ']'.repeat(levels - 2))
    expect(await submitted([nested(32)])).toEqual([0, ['1 value must be a number.']])
    expect(await statusOf('PUT', '/meters/interval', `[${nested(33)}]`)).toEqual([400, 'body_invalid'])
  })
})

describe('a submission', () => {
  it('has 1 to 10,000 records, as a list or as lines', async () => {
    const records = Array.from({ length: 10_001 }, () => '{}')
    expect((await submitted(records.slice(1)))[1]).toHaveLength(10_000)
    expect(await statusOf('PUT', '/meters/interval', `[${records.join(',')}]`)).toEqual([400, 'too_many_records'])
    expect(await statusOf('PUT', '/meters/interval', '[]')).toEqual([400, 'body_invalid'])
    const lines = { 'content-type': 'application/x-ndjson' }
    expect(await statusOf('PUT', '/meters/interval', records.slice(1).join('\n'), lines)).toBe(200)
    expect(await statusOf('PUT', '/meters/interval', records.join('\n'), lines)).toEqual([400, 'too_many_records'])
    expect(await statusOf('PUT', '/meters/interval', '\n\n', lines)).toEqual([400, 'body_invalid'])
  })

  it('of market prices has 1 to 10,000 prices', async () => {
    const at = (minute: number) => new Date(Date.UTC(2024, 0, 1) + minute * 60_000).toISOString()
    const prices = Array.from({ length: 10_001 }, (_, minute) => ({
      start_time: at(minute),
      end_time: at(minute + 1),
      value: minute % 7,
    }))
    const path = `/markets/${fixture.market}/prices`
    expect(await statusOf('PUT', path, JSON.stringify(prices.slice(1)))).toBe(200)
    expect(await statusOf('PUT', path, JSON.stringify(prices))).toEqual([400, 'value_out_of_range'])
    expect(await statusOf('PUT', path, '[]')).toEqual([400, 'value_out_of_range'])
  })
})

describe('a record', () => {
  it('has at most 366 days, from 2000-01-01 to 7 days ahead', async () => {
    const span = (start: string | number, end: string | number) =>
      record({ start_time: new Date(start).toISOString(), end_time: new Date(end).toISOString() })
    const day = 86_400_000
    const [start, now] = [Date.UTC(2024, 0, 1), Date.now()]
    const [accepted, failed] = await submitted([
      span(start, start + 366 * day),
      span(start, start + 366 * day + 1),
      span('2000-01-01T00:00:00.000Z', '2000-01-02T00:00:00Z'),
      span('1999-12-31T23:59:59.999Z', '2000-01-02T00:00:00Z'),
      span(now, now + 7 * day - 60_000),
      span(now, now + 7 * day + 60_000),
      span(start, start),
      span(start + 1, start),
    ])
    expect([accepted, failed]).toEqual([
      4,
      [
        '2 end_time must be at most 366 days after start_time.',
        '4 start_time must not be before 2000-01-01T00:00:00Z.',
        '6 end_time must be at most 7 days ahead.',
        '8 end_time must not be before start_time',
      ],
    ])
  })

  it('has at most 1e11 Wh in at most 17 significant digits, and never less than 0', async () => {
    const values = [
      '100000000',
      '1e8',
      '100000000.000000001',
      '0',
      '-0.1',
      '1.2345678901234567',
      '1.23456789012345678',
      '1e400',
      '-0',
    ]
    const elements = values.map((value, index) =>
      recordOf(value).replace('}', `,"record_reference_id":"value-${index}"}`),
    )
    const [accepted, failed] = await submitted(elements)
    expect([accepted, failed.map(error => error.split(' ')[0])]).toEqual([5, ['3', '5', '7', '8']])
    for (const error of failed) expect(error).toMatch(/^\d value must /)
  })

  it('has a confidence above 0 and at most 1', async () => {
    const confidences = [1, 0.000001, 0, 1.000001, -1]
    const [accepted, failed] = await submitted(
      confidences.map(confidence => record({ confidence, session_reference_id: `confidence-${confidence}` })),
    )
    expect([accepted, failed.map(error => error.split(' ')[0])]).toEqual([2, ['3', '4', '5']])
  })
})
