import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { statusOf } from '../../../services/contract/error.ts'
import { eventTypes } from '../../../services/contract/events/event-type.ts'
import { refusalCodes } from '../../../services/domain/refusal.ts'

/** Return the cells of the rows of a page's tables whose first cell is code. */
const rowsOf = (path: string): readonly (readonly string[])[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .map(line => line.slice(2, -2).split(' | '))

const nameOf = (cell = ''): string => cell.replaceAll('`', '')

describe('the page of errors', () => {
  const rows = rowsOf('docs/errors.md')

  it('explains each code once', () => {
    expect(rows.map(([code]) => nameOf(code)).toSorted()).toEqual(refusalCodes.toSorted())
  })

  it.each(refusalCodes)('has the status, a cause and a next step: %s', code => {
    const [, status, cause, step] = rows.find(([name]) => nameOf(name) === code) ?? []
    expect(status).toBe(String(statusOf(code, 'current')))
    for (const text of [cause, step]) expect(text).toMatch(/^[A-Z`].{8,}\.$/)
  })
})

describe('the page of events', () => {
  it('describes each type as the API does', () => {
    const described = eventTypes.map(({ type, description, data }) => [type, description, data.name])
    const rows = rowsOf('docs/events.md').map(([type, ...cells]) => [nameOf(type), ...cells])
    expect(rows.toSorted()).toEqual(described.toSorted())
  })
})
