import fc from 'fast-check'
import { describe, it } from 'vitest'
import { db, nextTenant, useMeterTables } from '../../suites/meter-tables.ts'
import { historiesOf, settings } from '../../support/history/generate-history.ts'
import type { History } from '../../support/history/history.ts'
import { playSteps } from '../../support/history/play-steps.ts'
import { describeHistory } from '../../support/history/stored-state.ts'

const count = Number(process.env['STEP_HISTORIES'] ?? 12)
const seed = Number(process.env['HISTORY_SEED'] ?? 14)
/** Number of histories of one setting that are played together: a step costs one request of each. */
const together = 125
const timeout = 120_000 + count * 6_000

const batchOf = (batch: number): readonly History[] =>
  fc.sample(historiesOf(settings[(batch + seed) % settings.length] ?? settings[0]), {
    numRuns: Math.min(together, count - batch * together),
    seed: seed * 1000 + batch,
  })

useMeterTables()

/** Leave records and registers out of a failing history as long as it fails. */
const shrink = async (history: History, faults: readonly string[]): Promise<readonly [History, readonly string[]]> => {
  const without = [
    ...history.records.map((_, index) => ({ ...history, records: history.records.toSpliced(index, 1) })),
    ...history.registers.map((_, index) => ({ ...history, registers: history.registers.toSpliced(index, 1) })),
  ]
  if (without.length === 0) return [history, faults]
  const found = await playSteps(db, nextTenant(), without)
  const index = found.findIndex(one => one.length > 0)
  return index < 0 ? [history, faults] : shrink(without[index] as History, found[index] as readonly string[])
}

describe(`${count} histories with the seed ${seed}, each submission costed by itself`, () => {
  it('have the result of an exact calculation', { timeout }, async () => {
    for (let batch = 0; batch * together < count; batch += 1) {
      const own = batchOf(batch)
      const found = await playSteps(db, nextTenant(), own)
      const index = found.findIndex(faults => faults.length > 0)
      if (index < 0) continue
      const faults = found[index] as readonly string[]
      const [small, left] = await shrink(own[index] as History, faults)
      const number = batch * together + index + 1
      const failed = found.filter(one => one.length > 0).length
      throw new Error(
        `history ${number}, ${failed} of its batch of ${own.length} fail\n${describeHistory(small)}\n\n${left.join('\n')}\n\nat first\n${faults.slice(0, 3).join('\n')}`,
      )
    }
  })
})
