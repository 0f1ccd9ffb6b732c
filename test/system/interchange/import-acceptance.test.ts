import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

type ReadingCase = {
  readonly id: string
  readonly kind: 'readings'
  readonly file: string
  readonly format: string
  readonly location: object
  readonly options: readonly string[]
  readonly before: readonly object[]
  readonly accepted: number
  readonly refused: readonly (string | readonly [number, string])[]
  readonly energy_wh: string
  readonly expected: readonly { readonly tariff_direction: 'IMPORT' | 'EXPORT'; readonly cost: string }[]
  readonly span: readonly [string, string]
  readonly tolerance: { readonly abs: number }
  readonly not_imported_points?: number
  readonly exit?: readonly number[]
}

type ObjectCase = {
  readonly id: string
  readonly kind: 'objects'
  readonly what: string
  readonly file: string
  readonly created: number
  readonly refused: readonly (readonly [number, string])[]
  readonly exit: readonly number[]
}

type Case = ReadingCase | ObjectCase | { readonly id: string; readonly kind: 'tariff' }

const folder = fileURLToPath(new URL('../../../../shared/acceptance/interchange/', import.meta.url))
const hasCases = existsSync(join(folder, 'cases.json'))
const read: { readonly cases?: readonly Case[] } | readonly Case[] = hasCases
  ? JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8'))
  : []
const cases = (Array.isArray(read) ? read : (read as { cases: readonly Case[] }).cases) as readonly Case[]
const readingCases = cases.filter(one => one.kind === 'readings')
const objectCases = cases.filter(one => one.kind === 'objects')
const skipped = hasCases ? '' : ' (skipped: the folder of acceptance files is absent)'

const system = useSharedSystem()

/** Copy a file of others, because the import writes files beside its file. */
const copyOf = (file: string): string => {
  const path = join(makeTestFolder(), basename(file))
  copyFileSync(join(folder, 'files', file), path)
  return path
}

type Costs = {
  readonly data: readonly {
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

describe.skipIf(!hasCases)(`files of others with readings${skipped}`, () => {
  it.each(readingCases)('$id is imported, and costs what its case says', async one => {
    const client = await system.login()
    const locationId = await makeOne(client, '/locations', one.location)
    for (const tariff of one.before) await makeOne(client, '/tariffs', { ...tariff, location_id: locationId })
    const { code, report, err } = await runImport(system.sandbox(), 'readings', [
      copyOf(one.file),
      ...['--format', one.format, '--location', locationId],
      ...one.options,
    ])
    expect(err).toBe('')
    expect(one.exit ?? [0]).toContain(code)
    expect(report.accepted).toBe(one.accepted)
    const refused = report.refused.map(({ line, code }, index) =>
      Array.isArray(one.refused[index]) ? [line, code] : code,
    )
    expect(refused).toEqual(one.refused)
    if (one.not_imported_points !== undefined) expect(report.not_imported).toHaveLength(one.not_imported_points)
    const [start_time, end_time] = one.span
    for (const { tariff_direction, cost } of one.expected) {
      const path = `/costs/interval/${locationId}?tariff_direction=${tariff_direction}`
      const { data } = (await client.ask('POST', path, { start_time, end_time })) as Costs
      const [total] = data
      expect(total?.tariff.cost.value).toBeCloseTo(Number(cost), 5)
      if (tariff_direction === 'IMPORT') expect(String(total?.energy.value)).toBe(one.energy_wh)
    }
  })
})

describe.skipIf(!hasCases)(`files of others with objects${skipped}`, () => {
  it.each(objectCases)('$id are created, and unchanged the second time', async one => {
    const args = [copyOf(one.file)]
    const { code, report } = await runImport(system.sandbox(), one.what, args)
    expect(one.exit).toContain(code)
    expect(report).toMatchObject({ created: one.created, unchanged: 0 })
    expect(report.refused.map(({ line, field }) => [line, field])).toEqual(one.refused)
    const again = await runImport(system.sandbox(), one.what, args)
    expect(again.report).toMatchObject({ created: 0, unchanged: one.created })
  })
})
