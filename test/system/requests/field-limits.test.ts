import { afterAll, describe, expect, it } from 'vitest'
import { openProbe } from '../../support/http/limit-probe.ts'
import { flatSchedule } from '../../support/registry/object-fixture.ts'

const probe = await openProbe()
const { client, fixture, statusOf, record, submitElements: submitted } = probe
afterAll(() => probe[Symbol.asyncDispose]())

/** Characters of one, two and four UTF-16 units. Each is one character. */
const letters = ['a', 'ß', '\u{1f50c}'] as const

describe.each(letters)('a text of the character %s', letter => {
  const text = (characters: number) => letter.repeat(characters)

  it('has at most 255 characters', async () => {
    const { customer, device } = fixture
    for (const [method, path, body, status] of [
      ['POST', '/customers', (value: string) => ({ reference_id: value }), 201],
      ['PATCH', `/customers/${customer}`, (value: string) => ({ metadata: { note: value } }), 202],
      ['PATCH', `/customers/${customer}`, (value: string) => ({ metadata: { [value]: 'note' } }), 202],
      ['PATCH', `/devices/${device}`, (value: string) => ({ reference_id: value }), 200],
      ['POST', '/markets', (value: string) => ({ display_name: value, currency_code: 'EUR' }), 201],
    ] as const) {
      expect([path, await statusOf(method, path, JSON.stringify(body(text(255))))]).toEqual([path, status])
      const [refusedStatus] = [await statusOf(method, path, JSON.stringify(body(text(256))))].flat()
      expect([path, refusedStatus]).toEqual([path, 400])
    }
    expect(
      await submitted([record({ record_reference_id: text(255) }), record({ record_reference_id: text(256) })]),
    ).toEqual([1, ['2 record_reference_id must have at most 255 characters.']])
  })

  it('can be a session in a path with up to 255 characters', async () => {
    const times = { start_time: '2025-09-16T10:00:00Z', end_time: '2025-09-16T11:00:00Z' }
    await client.submit([record({ session_reference_id: text(255), ...times })])
    const cost = async (characters: number) =>
      client.send('POST', `/costs/session/${encodeURIComponent(text(characters))}`)
    expect((await cost(255)).status).toBe(200)
    expect((await cost(256)).status).toBe(404)
  })
})

describe('counts', () => {
  it('of metadata fields are at most 20', async () => {
    const metadata = (count: number) =>
      JSON.stringify({ metadata: Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, 'x'])) })
    expect(await statusOf('POST', '/customers', metadata(20))).toBe(201)
    expect(await statusOf('POST', '/customers', metadata(21))).toEqual([400, 'field_invalid'])
  })

  it('of a page are 1 to 100', async () => {
    const lists = [
      '/customers',
      '/locations',
      '/devices',
      '/markets',
      '/events',
      '/meters/records',
      '/tariffs',
      '/charges',
      '/calendars',
    ]
    for (const list of lists) {
      const statusOf = async (limit: string) =>
        (
          await client.send(
            'GET',
            `${list}?limit=${limit}${/records|tariffs/.test(list) ? `&location_id=${fixture.location}` : ''}`,
          )
        ).status
      const statuses = await Promise.all(['1', '100', '0', '101', '-1', '1.5', ''].map(statusOf))
      // An empty value counts as absent. Source: docs/rules/versions-and-transport.md #query-parameters.
      expect([list, statuses]).toEqual([list, [200, 200, 400, 400, 400, 400, 200]])
    }
  })

  it('of schedule entries are at most 400, of tiers 32', async () => {
    const { id } = (await client.ask('POST', '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })) as {
      readonly id: string
    }
    const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
    const days = Array.from({ length: 31 }, (_, day) => day + 1)
    const [every] = flatSchedule
    const existing = (month: string, date: number) =>
      date <= (month === 'Feb' ? 29 : ['Apr', 'Jun', 'Sep', 'Nov'].includes(month) ? 30 : 31)
    const dated = months.flatMap(month =>
      days.filter(date => existing(month, date)).map(date => ({ ...every, months: [month], dates: [date] })),
    )
    const entries = [
      every,
      ...days.map(date => ({ ...every, dates: [date] })),
      ...dated,
      ...months.map(month => ({ ...every, months: [month] })),
    ]
    const tiers = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ fixed: at, ...(at + 1 < count ? { to_kwh: at + 1 } : {}) }))
    const tiered = (count: number) => [
      {
        months: ['All'],
        days_and_hours: [
          { days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: tiers(count) }] },
        ],
      },
    ]
    const codeOf = async (schedule: readonly unknown[], direction: string) =>
      statusOf('POST', '/tariffs', JSON.stringify({ location_id: id, direction, type: 'COMMODITY', schedule }))
    expect(entries.length).toBeGreaterThan(400)
    expect(await codeOf(entries.slice(0, 401), 'IMPORT')).toEqual([400, 'schedule_invalid'])
    expect(await codeOf(entries.slice(0, 400), 'IMPORT')).toBe(200)
    expect(await codeOf(tiered(33), 'EXPORT')).toEqual([400, 'schedule_invalid'])
    expect(await codeOf(tiered(32), 'EXPORT')).toBe(200)
  })
})

describe('an interval', () => {
  const cost = (start_time: string, end_time: string, aggregation = '') =>
    statusOf('POST', `/costs/interval/${fixture.location}${aggregation}`, JSON.stringify({ start_time, end_time }))

  it('of costs is at most 10 years and 4,000 elements', async () => {
    expect(await cost('2015-01-01T00:00:00Z', '2025-01-01T00:00:00Z')).toBe(200)
    expect(await cost('2015-01-01T00:00:00Z', '2025-01-01T00:00:00.001Z')).toEqual([400, 'interval_too_long'])
    const hours = (count: number) => new Date(Date.UTC(2025, 0, 1) + count * 3_600_000).toISOString()
    expect(await cost(hours(0), hours(4_000), '?aggregation=HOUR')).toBe(200)
    expect(await cost(hours(0), hours(4_001), '?aggregation=HOUR')).toEqual([400, 'too_many_elements'])
  })

  it('of market prices is at most 90 days', async () => {
    const prices = (end: string) =>
      statusOf('GET', `/markets/${fixture.market}/prices?start_time=2025-01-01T00:00:00Z&end_time=${end}`, '')
    expect(await prices('2025-04-01T00:00:00Z')).toBe(200)
    expect(await prices('2025-04-01T00:00:00.001Z')).toEqual([400, 'interval_too_long'])
  })
})

describe('headers', () => {
  it('have at most 16 KiB together, an Idempotency-Key 255 characters, and a request id 128 characters', async () => {
    expect(await statusOf('GET', '/account', '', { 'x-filler': 'x'.repeat(15 * 1_024) })).toBe(200)
    expect(await statusOf('GET', '/account', '', { 'x-filler': 'x'.repeat(17 * 1_024) })).toEqual([
      431,
      'headers_too_large',
    ])
    expect(await statusOf('POST', '/customers', '{}', { 'idempotency-key': 'k'.repeat(255) })).toBe(201)
    expect(await statusOf('POST', '/customers', '{}', { 'idempotency-key': 'k'.repeat(256) })).toEqual([
      400,
      'header_invalid',
    ])
    const idOf = async (id: string) =>
      (await client.send('GET', '/account', undefined, { 'X-Request-Id': id })).headers.get('x-request-id')
    expect(await idOf('r'.repeat(128))).toBe('r'.repeat(128))
    expect(await idOf('r'.repeat(129))).toMatch(/^req_/)
  })
})
