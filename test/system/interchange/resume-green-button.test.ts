import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSource } from '../../../services/interchange/commands/import/import-files.ts'
import { importReadings } from '../../../services/interchange/commands/import/import-readings.ts'
import { openTarget } from '../../../services/interchange/commands/import/import-target.ts'
import type { ExportedRecord } from '../../../services/interchange/domain/exported-record.ts'
import { collectFileCosts } from '../../../services/interchange/domain/green-button/file-costs.ts'
import { writeGreenButton } from '../../../services/interchange/domain/green-button/write-green-button.ts'
import { openArchive } from '../../../services/interchange/platform/archive.ts'
import { greenButtonSource } from '../../../services/interchange/reading-import/read-green-button.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const readings = 12_000
const from = Date.parse('2026-01-01T00:00:00Z')

const record = (index: number): ExportedRecord => ({
  id: `${index}`,
  start: from + index * 60_000,
  end: from + (index + 1) * 60_000,
  locationId: 'loc_1',
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  sessionReferenceId: null,
  currencyCode: 'EUR',
  deviceId: null,
  energy: 1_000_000n,
  cost: null,
  confidence: 1_000_000,
  pieces: [],
})

it('an interrupted import of Green Button continues after the last acknowledged entry', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.3 })
  const file = join(makeTestFolder(), 'feed.xml')
  const records = Array.from({ length: readings }, (_, index) => record(index))
  const uuidOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
  writeFileSync(file, [...writeGreenButton({ locationId: 'loc_1', name: 'feed', records, at: from, uuidOf })].join(''))
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const dataFolder = makeTestFolder()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: dataFolder }
  const target = await openTarget({ options: { 'base-url': baseUrl }, variables })
  const runOnce = async (onCommit: (abort: () => void) => void) => {
    const source = await openSource(file, dataFolder)
    const interruption = new AbortController()
    const nothing = (): void => undefined
    return importReadings({
      file: source,
      target,
      at: from,
      isDryRun: false,
      stateOptions: 'test',
      signal: interruption.signal,
      progress: {
        addBytes: nothing,
        wait: nothing,
        end: nothing,
        show: () => onCommit(() => interruption.abort()),
      },
      source: greenButtonSource({
        open: () => openArchive(source.chunks(nothing)),
        location: { id: location },
        costs: collectFileCosts(),
        deviceOf: () => Promise.resolve(null),
      }),
    })
  }
  await expect(runOnce(abort => abort())).rejects.toThrow()
  const report = await runOnce(() => undefined)
  expect(report.resumed_at_line).toBeGreaterThan(1_000)
  expect(report).toMatchObject({ accepted: readings, refused: [], rows: readings })
  const span = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-02-01T00:00:00Z' }
  const costs = await client.ask('POST', `/costs/interval/${location}`, span)
  expect(costs).toMatchObject({ data: [{ records: readings, energy: { value: readings } }] })
})
