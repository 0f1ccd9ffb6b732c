import { beforeAll, describe } from 'vitest'
import { exportedColumns, type FileCase } from '../support/acceptance/field-cases.ts'
import {
  describeFieldWay,
  energiesOf,
  type FieldWay,
  linesOf,
  type Period,
  type Receipt,
} from '../support/acceptance/field-ways.ts'
import { buildPythonClient, hasPython, runPython } from '../support/clients/python-client.ts'
import { buildTypescriptClient, runInClient } from '../support/clients/typescript-client.ts'
import { useSharedSystem } from '../support/system/use-system.ts'

const system = useSharedSystem()

type Outcome = { readonly accepted: number } & Pick<Receipt, 'failed_records'>

/** Records of a file of hours in two commodities, as a program reads them. */
const recordsOfFile = (location: string, { text }: FileCase): readonly object[] =>
  text
    .trim()
    .split('\n')
    .slice(1)
    .map(row => row.split(','))
    .map(([start = '', , value]) => ({
      location_id: location,
      units: 'KWH',
      value: Number(value),
      start_time: start,
      end_time: new Date(Date.parse(start) + 3_600_000).toISOString(),
    }))

/** Return the way of a client. `run` performs a step of its program. */
const wayOf = (run: (input: string) => Promise<string>): FieldWay => {
  const perform = async <T>(step: string, input: unknown): Promise<T> => {
    const { base_url, test_key: api_key } = system.sandbox()
    return JSON.parse(await run(JSON.stringify({ base_url, api_key, step, input })))
  }
  const table = (accept: string, location: string, [start_time, end_time]: Period['instants']): Promise<string> =>
    perform('table', { accept, query: { location_id: location, start_time, end_time } })
  return {
    sendReadings: async (location, readings) =>
      linesOf((await perform<Outcome>('readings', { location_id: location, ...readings })).failed_records),
    sendFile: async (location, file) => {
      const outcome =
        file.refusedRecords !== undefined
          ? await perform<Outcome>('records', recordsOfFile(location, file))
          : await perform<Outcome>('csv', { text: file.text, query: { location_id: location, ...file.form } })
      const lines = linesOf(outcome.failed_records)
      // Positions of a call count over all its batches, and its errors name them.
      const positions = outcome.failed_records.map(({ error }) => /^duplicate_row: Record (\d+) /.exec(error)?.[1])
      return lines.map(([line, code], index) => [Number(positions[index] ?? line - 1) + 1, code])
    },
    exportEnergies: async (location, { instants }) => {
      const [start_time, end_time] = instants
      const costs = await perform<{ readonly data: readonly { readonly energy: { readonly value: number } }[] }>(
        'costs',
        { id: location, body: { start_time, end_time } },
      )
      return {
        records: energiesOf(await table('application/x-ndjson', location, instants)),
        costs: costs.data.map(({ energy }) => energy.value),
      }
    },
    importAgain: async (location, { instants }) => {
      const query = { location_id: location, unit: 'WH', columns: exportedColumns }
      return (await perform<Outcome>('csv', { text: await table('text/csv', location, instants), query })).accepted
    },
  }
}

/** Enough for the installation of packages on a slow network. */
const installLimitMs = 420_000

describe('the TypeScript client', () => {
  beforeAll(buildTypescriptClient, installLimitMs)
  const way = wayOf(input => runInClient(['tests/run-field-case.mjs'], {}, { input }))
  describeFieldWay('with readings of the field', system.login, way, 'as records')
})

describe.skipIf(!hasPython)('the Python client', () => {
  beforeAll(buildPythonClient, installLimitMs)
  const way = wayOf(input => runPython(['tests/run_field_case.py'], input))
  describeFieldWay('with readings of the field', system.login, way, 'as records')
})
