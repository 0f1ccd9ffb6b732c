import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ApiVersion } from '../../../services/contract/api-version.ts'
import type { Operation } from '../../../services/contract/operation.ts'
import { operations } from '../../../services/operations.ts'
import { reachedMessages } from '../../support/openapi/reached-messages.ts'
import { refusalMessages } from '../../support/openapi/refusal-messages.ts'

const maxWords = 25

/** Internal words of the service, which callers do not know. */
const internal =
  /\b(?:zod|undefined|NaN|null prototype|regexp?|bigint|lane|era|stretch|snapshot|outbox|postgres\w*|clickhouse|kafka|sql)\b|\[object/i

/** A sentence begins with a capital, a quoted name, a value or a member name. */
const begins = /^(?:[A-Z"…]|\[\d+\] |[a-z][a-z0-9]*(?:[_.[]|\b (?:must|is|has|names|belongs|cannot|leaves)))/
/** A clause begins with a verb. The member name is added before the verb. */
const beginsClause = /^(?:must|is|has|goes|contains) /

/** Return the faults in the form of a message. */
const faultsOf = (text: string, isClause: boolean): readonly string[] => [
  ...((isClause ? beginsClause : begins).test(text) ? [] : ['beginning']),
  ...(text.split(/\s+/).length > maxWords ? ['length'] : []),
  ...(internal.test(text) ? ['internal word'] : []),
  ...(/\s\s|\s[.,;:]|[,;:]$|\.\.$/.test(text) ? ['punctuation'] : []),
]

/** Return the member names that an operation has in the current API version only. */
const currentNames = ({ renames }: Operation): ReadonlySet<string> => {
  const all = [...(renames?.body ?? []), ...(renames?.query ?? [])]
  const last = (path: string | undefined): string => path?.split('.').at(-1) ?? ''
  const earlier = new Set(all.map(one => last(one.earlier)))
  return new Set(all.map(one => last(one.current)).filter(name => name.includes('_') && !earlier.has(name)))
}

const namesForeignMember = (operation: Operation, apiVersion: ApiVersion, message: string): boolean => {
  if (apiVersion === 'current' || message.includes('belongs to Api-Version')) return false
  const names = currentNames(operation)
  return (message.match(/[a-z][a-z0-9_]*/g) ?? []).some(word => names.has(word))
}

describe('the messages of refusals', () => {
  const sources = globSync(
    'services/{background,contract,domain,ingest-gateway,platform,query-service,web}/**/*.ts',
  ).map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  }))
  // Successful answers have a member with this name too.
  const written = sources.flatMap(refusalMessages).filter(({ text }) => text !== 'Accepted')

  it('of all sources are sentences of at most 25 words without internal terms', () => {
    expect(written.length).toBeGreaterThan(250)
    const faults = written.flatMap(({ position, text, isClause }) => {
      const isWhole = isClause && /^[A-Z]/.test(text)
      const found = faultsOf(text, isClause && !isWhole && !text.startsWith('…'))
      return found.length === 0 ? [] : [`${position} ${text}: ${found.join(', ')}`]
    })
    expect(faults).toEqual([])
  })

  it('of changed examples are such sentences too, with a full stop and the names of the API version', async () => {
    const messages = new Set<string>()
    const faults = new Set<string>()
    for await (const { operation, apiVersion, change, message } of reachedMessages(operations)) {
      messages.add(message.replace(/column \d+/, 'column 1'))
      const found = [
        ...faultsOf(message, false),
        ...(/[.?!]$/.test(message) ? [] : ['full stop']),
        ...(namesForeignMember(operation, apiVersion, message) ? ['name of the other version'] : []),
      ]
      if (found.length > 0) faults.add(`${operation.id} ${apiVersion} ${change}: ${message} ${found.join(', ')}`)
    }
    expect([...faults]).toEqual([])
    expect(messages.size).toBeGreaterThan(180)
    for (const text of [
      'reference_id must be a string.',
      'duration must be a whole number of minutes.',
      'start_time must not overlap entry [0].',
    ]) {
      expect(messages).toContain(text)
    }
  })

  it.each([
    ['is required', false, 'beginning'],
    ['the body is wrong', false, 'beginning'],
    ['The lane is full', false, 'internal word'],
    ['The value is undefined', false, 'internal word'],
    ['Send it again ,', false, 'punctuation'],
    [Array.from({ length: 26 }, () => 'Word').join(' '), false, 'length'],
    ['value must be a number', true, 'beginning'],
  ])('that read %j are found', (text, isClause, fault) => expect(faultsOf(text, isClause)).toContain(fault))

  it('that name a member of the other version are found', () => {
    const operation = operations.find(({ id }) => id === 'price_retrieve') ?? expect.fail('no such operation')
    expect(namesForeignMember(operation, 'earlier', 'tariff_direction must be IMPORT or EXPORT.')).toBe(true)
    expect(namesForeignMember(operation, 'current', 'tariff_direction must be IMPORT or EXPORT.')).toBe(false)
    expect(namesForeignMember(operation, 'earlier', 'direction must be IMPORT or EXPORT.')).toBe(false)
  })
})
