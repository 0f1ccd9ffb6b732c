import { describe, expect, it } from 'vitest'
import type { FileReading, ObjectName } from '../../../../services/interchange/domain/reading.ts'
import {
  areBatchesRelated,
  type ReadingBatch,
  startBatch,
} from '../../../../services/interchange/reading-import/reading-batch.ts'

const hour = 3_600_000

/** Batch with one reading of an hour for each entry. */
const batchOf = (...entries: readonly (readonly [location: ObjectName, device: ObjectName | null, at: number])[]) => {
  const batch = startBatch()
  entries.forEach(([location, device, at], index) => {
    const reading: FileReading = {
      line: index + 1,
      location,
      device,
      start: at * hour,
      end: (at + 1) * hour,
      value: '1',
      units: 'WH',
      isRegister: false,
      isRestart: false,
      directions: null,
      confidence: null,
      sessionReferenceId: null,
      recordReferenceId: null,
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

describe('a batch', () => {
  /** Number of readings of a batch that is full before the next line. */
  const sizeOf = (isRegister: boolean, meters: number): number => {
    const batch = startBatch()
    for (let line = 1; ; line += 1) {
      if (batch.isFull(line)) return batch.build().count
      const device = { reference: `meter ${line % meters}` }
      batch.add({
        line,
        location: home,
        device,
        start: line * hour,
        end: line * hour,
        value: '1',
        units: 'WH',
        isRegister,
        isRestart: false,
        directions: null,
        confidence: null,
        sessionReferenceId: null,
        recordReferenceId: null,
      })
    }
  }

  it('has 5,000 readings for a submission, and at most 80,000 of several registers', () => {
    expect([sizeOf(false, 1), sizeOf(false, 10), sizeOf(true, 1)]).toEqual([5_000, 5_000, 5_000])
    expect([sizeOf(true, 2), sizeOf(true, 100)]).toEqual([9_999, 80_000])
  })
})
