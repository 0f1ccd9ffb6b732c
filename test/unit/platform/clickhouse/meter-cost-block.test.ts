import { describe, expect, it } from 'vitest'
import {
  meterCostBlock,
  meterCostBlockInSteps,
} from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'

const piece = { start: 0, end: 1, energy: 1n, price: 1n, tier: 0n, cost: 1n, confidence: 10_000 }

describe('encoding rows in steps', () => {
  it.each([
    ['of one piece', 1],
    ['of many pieces', 100],
  ])('%s pauses every few hundred rows or few thousand pieces, and gives the same block', (_, count) => {
    const pieces = Array.from({ length: count }, (_, at) => ({ ...piece, start: at, end: at + 1 }))
    const rows = Array.from({ length: 2_000 }, (_, at) => costRow({ recordId: hexId('', at), pieces }))
    const work = meterCostBlockInSteps(rows)
    let steps = 0
    for (let step = work.next(); ; step = work.next()) {
      steps += 1
      if (step.done !== true) continue
      expect(step.value).toEqual(meterCostBlock(rows))
      break
    }
    expect(steps).toBeGreaterThan(count === 1 ? 8 : 100)
  })
})
