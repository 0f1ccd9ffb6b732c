import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { auditActionOf, isAudited, mayCall } from '../../../../services/contract/operation.ts'
import { operations } from '../../../../services/operations.ts'

const page = readFileSync('docs/audit-log.md', 'utf8')

/** Rows of the table of a section, without its heading. */
const tableOf = (heading: string): readonly string[] =>
  (page.split(`## ${heading}\n`)[1] ?? '')
    .split('\n## ')[0]
    ?.split('\n')
    .filter(line => line.startsWith('| '))
    .slice(2) ?? []

const nameOf = ({ routes }: (typeof operations)[number]): string => {
  const [first] = [...routes.current, ...routes.earlier]
  return `\`${first?.method} ${first?.path}\``
}

describe('the page of the audit log', () => {
  it('lists each operation that changes something, with its action', () => {
    const rows = operations.filter(isAudited).map(one => `| ${nameOf(one)} | \`${auditActionOf(one)}\` |`)
    expect(rows.length).toBeGreaterThan(40)
    expect(tableOf('Operations with entries')).toEqual(rows)
  })

  it('lists each other operation that is no GET, with the reason', () => {
    const rows = operations.filter(({ unaudited }) => unaudited !== undefined)
    expect(tableOf('Operations without entries')).toEqual(rows.map(one => `| ${nameOf(one)} | ${one.unaudited} |`))
    for (const { id, routes } of rows) expect(isAudited({ routes }), id).toBe(true)
  })
})

describe('an operation that changes something', () => {
  it('needs more than the scope read, except exports', () => {
    const open = operations.filter(one => isAudited(one) && mayCall(one, 'read')).map(({ id }) => id)
    expect(open).toEqual(['export_create', 'export_delete'])
  })
})
