import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ImportReport } from '../../../services/interchange/commands/import/import-report.ts'
import { login } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'

const folder = dataFolder()
const file = join(folder, '..', 'year.csv')
const state = `${file}.import-state.json`
const program = join(import.meta.dirname, '../../../services/command-line.mjs')

/** Eighteen months of quarter hours. */
const rowCount = 52_560
const firstStart = Date.UTC(2024, 0, 1)
const quarterMs = 900_000

let system: RunningSystem

beforeAll(async () => {
  await fillDataFolder(folder)
  system = await startSystem(folder)
  const instant = (index: number): string => new Date(firstStart + index * quarterMs).toISOString()
  const rows = Array.from(
    { length: rowCount },
    (_, index) => `${instant(index)},${instant(index + 1)},${(index % 9) + 1}`,
  )
  writeFileSync(file, `start,end,value\n${rows.join('\n')}\n`)
})

afterAll(async () => {
  await system[Symbol.asyncDispose]()
  removeData(folder)
})

type Client = {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; out: string; err: string }>
}

const startImport = (locationId: string): Client => {
  const args = [program, 'import', 'readings', file, '--location', locationId, '--unit', 'WH', '--json']
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'], WATTLEDGER_DATA_DIR: folder } })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  return { child, ended: new Promise(resolve => child.once('close', code => resolve({ code, out, err }))) }
}

const lineOfState = (): number => (existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')).line : 0)

/** Wait until the state of the import is past a line. */
const stateAfter = async (line: number, { child }: Client): Promise<number> => {
  for (let now = lineOfState(); ; now = lineOfState()) {
    if (now > line) return now
    if (child.exitCode !== null) throw new Error(`The import ended with ${child.exitCode} at line ${now}.`)
    await sleep(2)
  }
}

type Costs = {
  readonly data: readonly {
    readonly records: number
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

it('an import stores each record once, although the client and the service are killed', async () => {
  const locationId = await makeHome(await login(system.sandbox), { import: 0.25 })
  const first = startImport(locationId)
  const killedAt = await stateAfter(0, first)
  first.child.kill('SIGKILL')
  await first.ended

  const second = startImport(locationId)
  await stateAfter(killedAt, second)
  const port = new URL(system.sandbox.base_url).port
  await system.kill()
  expect(second.child.exitCode).toBeNull()
  system = await startSystem(folder, { WATTLEDGER_PORT: port })
  const { code, out, err } = await second.ended
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  const report: ImportReport = JSON.parse(out)
  expect(report).toMatchObject({ rows: rowCount, accepted: rowCount, refused_rows: 0, batches_pending: 0 })
  expect(report.resumed_at_line).toBe(killedAt + 1)
  expect(existsSync(state)).toBe(false)

  const client = await login(system.sandbox)
  let [energy, records, cost] = [0, 0, 0]
  // A quarter of a year is within the longest span of an answer.
  for (let from = firstStart; from < firstStart + rowCount * quarterMs; from += 90 * 86_400_000) {
    const to = Math.min(from + 90 * 86_400_000, firstStart + rowCount * quarterMs)
    const span = { start_time: new Date(from).toISOString(), end_time: new Date(to).toISOString() }
    const { data } = (await client.ask('POST', `/costs/interval/${locationId}`, span)) as Costs
    for (const element of data) {
      energy += element.energy.value
      records += element.records
      cost += element.tariff.cost.value
    }
  }
  const expectedWh = Array.from({ length: rowCount }, (_, index) => (index % 9) + 1).reduce((a, b) => a + b, 0)
  expect({ energy, records }).toEqual({ energy: expectedWh, records: rowCount })
  expect(cost).toBeCloseTo((expectedWh * 0.25) / 1000, 6)
})
