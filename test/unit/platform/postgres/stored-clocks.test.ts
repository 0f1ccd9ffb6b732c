import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { columnClocks, mixedClocks, type SqlSource } from '../../../support/repository/stored-clocks.ts'

const root = new URL('../../../../', import.meta.url).pathname
const read = (path: string): SqlSource => ({ path, text: readFileSync(`${root}${path}`, 'utf8') })

const schema = globSync('schemas/postgres/*.sql', { cwd: root }).map(path => read(path).text)
const sources = globSync('services/**/*.ts', { cwd: root })
  .map(read)
  .filter(({ text }) => text.includes('sql`'))

/** Write `<<name>>` as an embedded expression. */
const embedded = (text: string): string => text.replace(/<<([^<>]{1,80})>>/g, (_, name) => `$\{${name}}`)

/** Replace a text of one source. The text must be there. */
const planted = (path: string, before: string, after: string): readonly SqlSource[] => {
  const { text } = read(path)
  expect(text).toContain(embedded(before))
  return [
    ...sources.filter(one => one.path !== path),
    { path, text: text.replace(embedded(before), () => embedded(after)) },
  ]
}

describe('a stored time', () => {
  const clocks = columnClocks(schema, sources)

  it('is written by one clock, and compared with the same clock', () => {
    expect(mixedClocks(clocks)).toEqual([])
  })

  it('has the clock of the database if processes claim rows by it in SQL', () => {
    const byDatabase = [...clocks].filter(([, { database }]) => database.length > 0).map(([column]) => column)
    expect(byDatabase.toSorted()).toEqual([
      'calendar_fan_outs.turn_at',
      'exports.due_at',
      'leases.expires_at',
      'price_fan_outs.turn_at',
      'simulations.due_at',
      'statement_batch_pages.due_at',
      'statement_batches.served_at',
    ])
  })

  it('is the time of the database also in commands that open the database', () => {
    const commands = globSync('services/{command-line,*/commands}/**/*.ts', { cwd: root }).map(read)
    const withDatabase = commands.filter(({ text }) => text.includes('withDatabase(input'))
    expect(withDatabase.length).toBeGreaterThan(6)
    const readsMachine = ({ text }: SqlSource): boolean =>
      /\binput\.at\b|\bat\b[^{}]*\} = input\b|currentInstant\(/.test(text)
    expect(withDatabase.filter(readsMachine).map(({ path }) => path)).toEqual([])
    for (const text of ['x({ at: input.at })', 'const { options, at } = input', 'currentInstant()'])
      expect(readsMachine({ path: '', text })).toBe(true)
  })

  it('is found in statements, fragments and inserted rows', () => {
    for (const column of [
      'idempotency_keys.started_at',
      'console_sessions.expires_at',
      'user_links.expires_at',
      'webhook_deliveries.due_at',
      'webhook_endpoints.disabled_at',
      'tariff_credentials.due_at',
      'exports.finished_at',
      'statement_batches.finished_at',
      'statements.requested_at',
      'market_feeds.next_at',
      'plan_turns.due_at',
      'erasures.due_at',
      'events.time_created',
      'contract_timers.due_at',
      'simulations.time_created',
      'connect_sessions.expires_at',
    ])
      expect([column, clocks.get(column)?.service.length ?? 0]).not.toEqual([column, 0])
  })

  const folder = 'services/platform/postgres'
  it.each([
    ['inserted', `${folder}/exports/exports.ts`, "'PENDING', clock_timestamp()", "'PENDING', <<toTimestamp(at)>>"],
    [
      'inserted by select',
      `${folder}/statements/statement-batches.ts`,
      'order by n), clock_timestamp()',
      'order by n), <<now>>',
    ],
    [
      'assigned',
      `${folder}/exports/exports.ts`,
      'finished_at = <<toTimestamp(at)>>',
      'finished_at = clock_timestamp()',
    ],
    [
      'compared',
      `${folder}/registry/idempotency.ts`,
      'where started_at <= <<toTimestamp(at - retentionMs)>>',
      'where started_at <= now()',
    ],
    [
      'compared in reverse',
      `${folder}/leases.ts`,
      'lease.expires_at <= clock_timestamp()',
      '<<toTimestamp(at)>> >= lease.expires_at',
    ],
    ['part of a fragment', `${folder}/leases.ts`, 'sql`clock_timestamp() +', 'sql`<<toTimestamp(at)>>::timestamptz +'],
    [
      'within a case',
      `${folder}/statements/statement-batches.ts`,
      '= total then <<toTimestamp(at)>>',
      '= total then clock_timestamp()',
    ],
  ])('of the other clock is found: %s', (_, path, before, after) => {
    expect(mixedClocks(columnClocks(schema, planted(path, before, after)))).toHaveLength(1)
  })
})
