import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const services = join(import.meta.dirname, '../../../../services')

/** List the statements of a source that read a table without FINAL or without an account. */
const looseReads = (table: string, source: string): readonly string[] =>
  [...source.matchAll(new RegExp(`\\b(?:FROM|JOIN)\\s+${table}\\b[^\`]*`, 'g'))]
    .map(match => match[0])
    .filter(read => !new RegExp(`^FROM ${table} FINAL WHERE \\$\\{tenantIs\\(tenant\\)\\} AND `).test(read))

/** List the sources that read a table, and their statements without FINAL or account. */
const readersOf = (table: string): { readonly paths: readonly string[]; readonly loose: readonly string[] } => {
  const sourceOf = (path: string): string => readFileSync(join(services, path), 'utf8')
  const isReader = (path: string): boolean => new RegExp(`\\b(?:FROM|JOIN)\\s+${table}\\b`).test(sourceOf(path))
  const paths = readdirSync(services, { recursive: true, encoding: 'utf8' }).filter(
    path => path.endsWith('.ts') && isReader(path),
  )
  return { paths, loose: paths.flatMap(path => looseReads(table, sourceOf(path))) }
}

/** Clause of an upper estimate: it counts all versions of the rows. */
const versions = `FROM meter_cost WHERE \${tenantIs(tenant)} AND \${condition}`

describe.each([
  ['meter_cost', join('meter-cost', 'meter-cost-reads.ts'), [versions]],
  ['meter_readings', join('readings', 'meter-readings.ts'), []],
  ['meter_corrections', join('meter-cost', 'corrections.ts'), []],
])('statements over %s', (table, module, loose) => {
  it('all use FINAL and a tenant, and are in one module', () => {
    expect(readersOf(table)).toEqual({ paths: [join('platform', 'clickhouse', module)], loose })
  })

  it('are detected if they do not', () => {
    expect(looseReads(table, `\`SELECT 1 FROM ${table} WHERE \${tenantIs(tenant)} AND 1\``)).toHaveLength(1)
    expect(looseReads(table, `\`SELECT 1 FROM ${table} FINAL WHERE 1\``)).toHaveLength(1)
  })
})
