import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { fileIdentities } from '../../../../services/interchange/domain/file-identities.ts'
import {
  readCsvForm,
  readCsvRules,
  readReadingColumns,
} from '../../../../services/interchange/reading-import/csv-options.ts'
import { csvReadingSource } from '../../../../services/interchange/reading-import/read-csv-readings.ts'
import { sendReadings } from '../../../../services/interchange/reading-import/send-readings.ts'

const [deviceCount, rowsOfDevice] = [400, 1_000]
const options = { location: 'depot-7', unit: 'WH', interval: 'PT1M' }

const startTexts = Array.from({ length: rowsOfDevice }, (_, row) => new Date(row * 60_000).toISOString())

/** A file of meters with long names, one after the other. Each chunk has the rows of one meter. */
async function* chunksOfFile() {
  yield Buffer.from('device_reference,start,value\n')
  for (let device = 0; device < deviceCount; device += 1) {
    const name = `meter-of-the-depot-in-the-harbour-${device}`
    yield Buffer.from(startTexts.map(start => `${name},${start},0.30000000000000004\n`).join(''))
  }
}

/** Return the memory of living objects in bytes. */
const heapBytes = (): number => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('reading a long file', () => {
  it('keeps no text of earlier rows, and uses at most 10 µs of CPU time for a row', { timeout: 60_000 }, async () => {
    const rules = readCsvRules(options, null)
    const source = csvReadingSource(chunksOfFile(), readCsvForm(options), readReadingColumns(options), rules)
    const identities = fileIdentities(1_048_576)
    const before = heapBytes()
    const startedAt = process.threadCpuUsage()
    let count = 0
    for await (const rows of source.read()) {
      for (const row of rows) {
        if ('code' in row || identities.note(row) !== null) throw new Error(`Line ${row.line} is refused.`)
        count += 1
      }
      source.forget(rows.at(-1)?.line ?? 0)
    }
    const { user, system } = process.threadCpuUsage(startedAt)
    expect(count).toBe(deviceCount * rowsOfDevice)
    expect(identities.uncomparedFrom()).toBeNull()
    // A meter needs some hundred bytes. With the text of its chunk, it needs 70,000 bytes.
    expect((heapBytes() - before) / deviceCount).toBeLessThan(5_000)
    // 2 to 4 µs on a busy machine.
    expect((user + system) / count).toBeLessThan(10)
  })
})

describe('sending a long file', () => {
  it('keeps no reading of a committed batch', { timeout: 60_000 }, async () => {
    const source = csvReadingSource(
      chunksOfFile(),
      readCsvForm(options),
      readReadingColumns(options),
      readCsvRules(options, null),
    )
    const heapAfter: number[] = []
    let count = 0
    await sendReadings({
      source,
      identities: fileIdentities(1_048_576),
      // A dry run returns its readings.
      sender: {
        send: async ({ intervals }) => {
          await nextTurn()
          const checked = intervals.map(reading => ({ reading, register: null }))
          return { accepted: checked.length, checked, refused: [], batchIds: [], registers: [], warnings: [] }
        },
      },
      client: { call: () => Promise.reject(new Error('No receipt is awaited.')) } as never,
      commit: (lastLine, { accepted }) => {
        source.forget(lastLine)
        count += accepted
        if (count % 50_000 === 0) heapAfter.push(heapBytes())
      },
      from: 0,
      signal: new AbortController().signal,
    })
    expect(count).toBe(deviceCount * rowsOfDevice)
    // 300,000 readings would need about 70 MB.
    expect((heapAfter.at(-1) ?? 0) - (heapAfter[1] ?? 0)).toBeLessThan(15_000_000)
  })
})
