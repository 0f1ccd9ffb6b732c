import { describe, expect, it } from 'vitest'
import { openBulk } from '../audit/bulk/run-bulk.ts'
import { OptionError, parseOptions } from '../audit/options.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'

const limitMs = 240_000

describe.skipIf(skippedWithout('own broker') !== null)('records that are sent one to five times concurrently', () => {
  it('are stored once, with correct energy and cost, while workers join and leave and a gateway is killed', {
    timeout: limitMs,
  }, async () => {
    const options = parseOptions([
      '--bulk',
      '--records',
      '6000',
      '--kills',
      '1',
      '--locations',
      '5',
      '--connections',
      '2',
      '--seed',
      '12',
    ])
    if (options === null) throw new OptionError('asks for help')
    await using audit = await openBulk(options, () => undefined)
    await audit.load()
    const { differences, expected, found, receipts, days } = await audit.verify()
    const { faults, workerChanges, sent, uncertain, records, repeated, seconds } = audit.progress
    const counts = JSON.stringify({ faults, workerChanges, sent, uncertain })
    process.stdout.write(`${records} records and ${repeated} copies in ${Math.round(seconds)} s: ${counts}\n`)
    expect(differences).toEqual([])
    expect(expected).toBeGreaterThanOrEqual(6_000)
    expect(found).toBe(expected)
    expect(faults).toEqual(['gateway killed'])
    expect(workerChanges.stops + workerChanges.kills).toBe(workerChanges.joins)
    expect(workerChanges.joins).toBeGreaterThan(1)
    expect(repeated).toBeGreaterThan(records)
    expect(receipts).toBe(sent - uncertain)
    expect(days).toBeGreaterThan(100)
  })
})
