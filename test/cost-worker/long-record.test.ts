import { describe, expect, it } from 'vitest'
import { rowOf, settleInTurns } from '../../services/cost-worker/settle.ts'
import { costRecord } from '../../services/domain/cost/cost-record.ts'
import { pricingPool } from '../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../services/domain/tariff/snapshot.ts'
import type { Hours } from '../../services/domain/tariff/tariff.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/meter-cost-block.ts'
import { inTurns } from '../../services/platform/event-loop-turn.ts'
import type { HeldPricing } from '../../services/platform/pricing-book.ts'
import { costRow, hexId } from '../suites/cost-rows.ts'
import { cpuTime } from '../support/cpu-time.ts'
import { pricing, tariff } from '../support/oracle/tables.ts'

const day = 86_400_000
const start = Date.UTC(2024, 0, 1)

/** So many bands a day; no two neighbours cost the same. */
const bandsOf = (count: number): Hours[] =>
  Array.from({ length: count }, (_, index) => ({
    validFrom: (index * 86_400) / count,
    validTo: ((index + 1) * 86_400) / count,
    rate: [{ fixed: BigInt(index + 1) * 1_000n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
  }))

const heldOf = (bands: number): HeldPricing => {
  const of = tariff([], {
    id: hexId('trf_', 7),
    schedule: [{ months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours: bandsOf(bands) }] }],
  })
  const snapshot = compileSnapshot(pricing('UTC', [of]), pricingPool())
  return { snapshot, accountId: hexId('acc_', 1), revision: 1, priceRevision: 0n, importSourceId: null, exportSourceId: null }
}

const entryOf = (days: number) => {
  const { accountId, liveMode, batchId, receivedAt, recordId, locationId } = costRow()
  return {
    record: {
      ...{ locationId, deviceId: null, energyFlowDirection: 'INBOUND' as const, tariffDirection: 'IMPORT' as const, recordId },
      ...{ start, end: start + days * day, energy: 123_456_789_012_345n, confidence: 1_000_000 },
      ...{ sessionReferenceId: null, recordReferenceId: null },
    },
    part: { accountId, liveMode, batchId, receivedAt },
    ...{ version: 5n, sourceVersion: 5n, origin: null },
  }
}

describe('a long record', () => {
  const held = heldOf(288)

  it('is stored as one that is costed at once, byte for byte, among rows of few pieces', async () => {
    const entry = entryOf(30)
    const whole = rowOf(entry, costRecord(held.snapshot, entry.record), held)
    const { row } = await inTurns(settleInTurns(entry, held))
    expect(whole.pieces.length).toBe(30 * 288)
    expect([row.pieces.length, row.packed?.count]).toEqual([0, 30 * 288])
    const small = rowOf(entryOf(1), costRecord(held.snapshot, entryOf(1).record), held)
    for (const others of [[], [small], [costRow(), small]]) {
      const block = meterCostBlock([...others, row, ...others, row])
      expect(block).toEqual(meterCostBlock([...others, whole, ...others, whole]))
    }
  })

  it('may be interrupted after each of its days', () => {
    let stops = 0
    const work = settleInTurns(entryOf(30), held)
    for (let step = work.next(); step.done !== true; step = work.next()) stops += 1
    expect(stops).toBe(30)
  })

  it('holds the thread for some milliseconds at a time', () => {
    const work = settleInTurns(entryOf(120), heldOf(1_440))
    const times: number[] = []
    for (let isDone = false; !isDone; ) {
      times.push(
        cpuTime(() => {
          isDone = work.next().done === true
        }),
      )
    }
    times.sort((a, b) => b - a)
    // The collector may run within one or two of them.
    expect(times[2]).toBeLessThan(20)
  })

  it('takes time in proportion to its pieces, of which a year of minutes has the most', () => {
    const large = heldOf(1_440)
    const timeOf = (days: number): number =>
      Math.min(
        ...[0, 1, 2].map(() =>
          cpuTime(() => {
            const work = settleInTurns(entryOf(days), large)
            for (let step = work.next(); step.done !== true; step = work.next());
          }),
        ),
      )
    const [half, whole] = [timeOf(60), timeOf(120)]
    expect(whole).toBeLessThan(half * 2.5)
    // 172,800 pieces, some 2 µs each.
    expect(whole).toBeLessThan(1_000)
  })
})
