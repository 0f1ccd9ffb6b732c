import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Client } from '../system/client.ts'
import { makeHome } from '../system/home.ts'
import { recordsOf } from '../system/stored-costs.ts'
import { until } from '../system/until.ts'
import {
  type FileCase,
  fileCases,
  firstOfMay,
  type RegisterCase,
  referencedRecords,
  references,
  registerCases,
  type StoredInterval,
} from './field-cases.ts'

/** A refused reading with the line that it has in a file. The code is null if the way gives a message only. */
export type RefusedLine = readonly [line: number, code: string | null]

/** Period of an export: dates of the location, and their instants. */
export type Period = { readonly dates: readonly [string, string]; readonly instants: readonly [string, string] }

/** A way of a user into the service and out of it. Each function resolves when the service has processed all. */
export type FieldWay = {
  readonly sendReadings: (
    location: string,
    readings: Pick<RegisterCase, 'units' | 'data'>,
  ) => Promise<readonly RefusedLine[]>
  readonly sendFile: (location: string, file: FileCase) => Promise<readonly RefusedLine[]>
  /** Export the records and the costs of a location: their energies in Wh. Costs can have days without energy. */
  readonly exportEnergies: (
    location: string,
    period: Period,
  ) => Promise<{ readonly records: readonly number[]; readonly costs: readonly number[] }>
  /** Export the records of a location as CSV, import them again, and return the number of accepted records. */
  readonly importAgain: (location: string, period: Period) => Promise<number>
}

export type Receipt = {
  readonly id: string
  readonly status: string
  readonly records_accepted: number
  readonly failed_records: readonly { readonly record_num: number; readonly error: string }[]
}

/** Wait until a batch is processed, and return its receipt. */
export const receiptOf = (client: Client, id: string): Promise<Receipt> =>
  until(
    async () => (await client.ask('GET', `/meters/batch/${id}`)) as Receipt,
    ({ status }) => status === 'COMPLETE',
  )

/** Return the lines of failed records. A record without a line of its own follows the header. */
export const linesOf = (failed: Receipt['failed_records']): readonly RefusedLine[] =>
  failed.map(({ record_num: number, error }) => {
    const [, line] = /^Line (\d+): /.exec(error) ?? []
    const [, code] = /^([a-z_]+): /.exec(error) ?? []
    const isDuplicate = error.startsWith('duplicate of record')
    return [Number(line ?? number + 1), isDuplicate ? 'duplicate_row' : (code ?? null)]
  })

/** Return the energies of a table in NDJSON. */
export const energiesOf = (ndjson: string): readonly number[] =>
  ndjson
    .split('\n')
    .filter(Boolean)
    .map(line => Number(JSON.parse(line).energy_wh))

/** Write a text into a file of a folder. */
export const writeIn = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const instantOf = (text: string): string => new Date(text).toISOString().replace('.000', '')

const storedIn = async (client: Client, location: string): Promise<readonly StoredInterval[]> =>
  (await recordsOf(client, location))
    .map(({ data }): StoredInterval => [instantOf(data.start_time), instantOf(data.end_time), data.energy.value])
    .sort(([a], [b]) => (a < b ? -1 : 1))

/** Lines without the codes that a way does not give. */
const withoutUnknown = (expected: readonly RefusedLine[], refused: readonly RefusedLine[]): readonly RefusedLine[] =>
  expected.map(([line, code], index) => [line, refused[index]?.[1] === null ? null : code])

const may: Period = {
  dates: ['2026-05-01', '2026-06-01'],
  instants: ['2026-05-01T00:00:00+02:00', '2026-06-01T00:00:00+02:00'],
}
const march: Period = {
  dates: ['2026-03-01', '2026-03-02'],
  instants: ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
}
const hour = (at: number): number => Date.UTC(2026, 2, 1, at) / 1000

/** Define the tests of all cases for a way. */
export const describeFieldWay = (
  name: string,
  login: () => Promise<Client>,
  way: FieldWay,
  longFiles: 'as files' | 'as records' | 'none' = 'as files',
): void => {
  describe(name, () => {
    it.each(registerCases)('$title', async ({ location, refused, stored, units, data }) => {
      const client = await login()
      const home = await makeHome(client, { import: 0.25 }, { timezone: 'UTC', ...location })
      expect(await way.sendReadings(home, { units, data })).toEqual(refused)
      expect(await storedIn(client, home)).toEqual(stored)
    })

    it('a wrong reading can be withdrawn', async () => {
      const client = await login()
      const home = await makeHome(client, { import: 0.25 }, { timezone: 'UTC' })
      const send = (at: number, value: number | null) =>
        way.sendReadings(home, { units: 'KWH', data: [{ time: hour(at), value }] })
      for (const [at, value] of [
        [0, 100],
        [12, 112],
        [13, 101],
        [12, null],
      ] as const)
        await send(at, value)
      expect(await storedIn(client, home)).toEqual([['2026-03-01T00:00:00Z', '2026-03-01T13:00:00Z', 1000]])
    })

    it.each(fileCases.filter(file => longFiles !== 'none' || file.refusedRecords === undefined))(
      '$title',
      async file => {
        const client = await login()
        const home = await makeHome(client, { import: 0.25 }, file.location)
        const refused = await way.sendFile(home, file)
        const expected = longFiles === 'as records' ? (file.refusedRecords ?? file.refused) : file.refused
        expect(refused).toEqual(withoutUnknown(expected, refused))
        expect(await storedIn(client, home)).toEqual(file.stored)
      },
    )

    it('an export of May has the session of 1 May 00:01 and not the one of 1 June 00:30', async () => {
      const client = await login()
      const home = await makeHome(client, { import: 0.25 }, firstOfMay.location)
      const records = firstOfMay['PUT /meters/interval'].map(record => ({ ...record, location_id: home }))
      await client.submit(records)
      const { records: exported, costs } = await way.exportEnergies(home, may)
      expect([exported, costs.filter(energy => energy !== 0)]).toEqual([[10_000], [10_000]])
    })

    it('an export that is imported again is the same records', async () => {
      const client = await login()
      const home = await makeHome(client, { import: 0.25 }, { timezone: 'UTC' })
      await client.submit(referencedRecords(home))
      expect(await way.importAgain(home, march)).toBe(references.length)
      const stored = await recordsOf(client, home)
      expect(stored.map(({ data }) => data.session_reference_id).sort()).toEqual(references.toSorted())
      expect(stored.reduce((sum, { data }) => sum + data.energy.value, 0)).toBe(12_000)
    })
  })
}
