import { expect, it } from 'vitest'
import { accepted } from '../../../../services/domain/refusal.ts'
import {
  createRecordReader,
  maxPieces,
  type RecordsRequest,
} from '../../../../services/query-service/statements/gather-records.ts'
import { db, insert, location, own, tenant, useMeterTables } from '../../../suites/meter-tables.ts'

useMeterTables()

const day = 86_400_000
const span = { start: Date.UTC(2025, 0, 1), end: Date.UTC(2026, 0, 1) }
const piecesPerRow = 100_000
const idOf = (row: number): string => row.toString(16).padStart(24, '0')

const request = (): RecordsRequest => ({
  tenant,
  locationId: location,
  span,
  readFrom: span.start,
  earlier: null,
  hasSessions: false,
  includeDevices: 'auto',
  signal: new AbortController().signal,
})

it(`a statement reads up to ${maxPieces} pieces of one price`, { timeout: 120_000 }, async () => {
  const end = span.start + 300 * day
  const pieces = Array.from({ length: piecesPerRow }, (_, index) => ({
    start: span.start + index * 1_000,
    end: span.start + (index + 1) * 1_000,
    energy: 1_000_000n,
    price: 1n,
    tier: 0n,
    cost: 1n,
    confidence: 1_000_000,
  }))
  const energy = BigInt(piecesPerRow) * 1_000_000n
  for (let row = 0; row < maxPieces / piecesPerRow; row += 1)
    await insert([own({ locationId: location, recordId: idOf(row), start: span.start, end, energy, pieces })])
  const reader = createRecordReader(db)
  const read = await reader.withRecords(request(), async ({ bytes }) => accepted(bytes))
  expect(read.ok && read.value > 4 * 2 ** 20).toBe(true)
  const [piece] = pieces.slice(0, 1)
  if (piece === undefined) throw new Error('no piece')
  const one = { locationId: location, recordId: idOf(99), start: span.start, end: span.start + day, pieces: [piece] }
  await insert([own(one)])
  const refused = await reader.withRecords(request(), async () => accepted(null))
  const message = `The records of these days have more than ${maxPieces} parts of one price. Ask for fewer days, or send records that are shorter`
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'too_many_records', message } })
})
