import { describe, expect, it } from 'vitest'
import type { FileReading, ObjectName } from '../../../services/domain/interchange/reading.ts'
import { areBatchesRelated, type ReadingBatch, startBatch } from '../../../services/reading-import/reading-batch.ts'

const hour = 3_600_000

/** Batch with one reading of an hour for each entry. */
const batchOf = (...entries: readonly (readonly [location: ObjectName, device: ObjectName | null, at: number])[]) => {
  const batch = startBatch()
  entries.forEach(([location, device, at], index) => {
    const reading: FileReading = {
      ...{ line: index + 1, location, device, start: at * hour, end: (at + 1) * hour, value: '1', units: 'WH' },
      ...{
        isRegister: false,
        isRestart: false,
        directions: null,
        confidence: null,
        sessionReferenceId: null,
        recordReferenceId: null,
      },
    }
    batch.add(reading)
  })
  return batch.build()
}

const home = { reference: 'home' }
const car = { reference: 'car' }
const depot = { id: 'loc_1' }

describe('two batches', () => {
  it.each<readonly [string, ReadingBatch, ReadingBatch, boolean]>([
    ['with a meter at the same time', batchOf([home, car, 3]), batchOf([home, car, 2], [home, car, 3]), true],
    [
      'between whose first and last time the other one is',
      batchOf([home, car, 3]),
      batchOf([home, car, 1], [home, car, 5]),
      true,
    ],
    ['with a meter at times that touch', batchOf([home, car, 3]), batchOf([home, car, 4]), false],
    ['with two devices of a location', batchOf([home, car, 3]), batchOf([home, { reference: 'pump' }, 3]), false],
    ['with a device and its location', batchOf([home, car, 3]), batchOf([home, null, 3]), false],
    ['with a device at two locations', batchOf([home, car, 3]), batchOf([depot, car, 3]), false],
    ['with a location without devices', batchOf([depot, null, 3]), batchOf([home, null, 3], [depot, null, 3]), true],
  ])('%s are sent one after the other only if they share a time', (_, one, other, isRelated) => {
    expect([areBatchesRelated(one, other), areBatchesRelated(other, one)]).toEqual([isRelated, isRelated])
  })
})
