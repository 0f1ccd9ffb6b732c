import { describe, expect, it } from 'vitest'
import { readShape } from '../../../../services/contract/read-shape.ts'
import {
  refuseGroupedMonths,
  type SimulatedCandidate,
  simulationBody,
} from '../../../../services/contract/simulations/simulation-request.ts'
import { priceSchedule } from '../../../support/system/home.ts'

const listOf = <T>(count: number, entry: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => entry(index))

const ids = (count: number) => listOf(count, index => `loc_${String(index).padStart(24, '0')}`)

/** Return code, field and message of the refusal of a body; null if its shape is accepted. */
const refusalOf = (more: object) => {
  const days = { start_date: '2026-05-01', end_date: '2026-06-01' }
  const read = readShape(simulationBody, { ...days, object_ids: ids(1), candidates: [{ name: 'a' }], ...more }, 'body')
  return read.ok ? null : [read.refusal.code, read.refusal.field, read.refusal.message]
}

const tariff = { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.3) }
const charge = { kind: 'FIXED', name: 'fee', price: 1 }

describe('a simulation has at most', () => {
  it.each([
    ['1,000 locations', (count: number) => ({ object_ids: ids(count) }), 1_000, 'object_ids'],
    ['50 candidates', (count: number) => ({ candidates: listOf(count, () => ({ name: 'a' })) }), 50, 'candidates'],
    [
      '100 tariffs of a candidate',
      (count: number) => ({ candidates: [{ name: 'a', tariffs: listOf(count, () => tariff) }] }),
      100,
      'candidates[0].tariffs',
    ],
    [
      '200 charges of a candidate',
      (count: number) => ({ candidates: [{ name: 'a', charges: listOf(count, () => charge) }] }),
      200,
      'candidates[0].charges',
    ],
  ] as const)('%s', (_, body, max, member) => {
    expect(refusalOf(body(max))).toBeNull()
    const [code, field, message] = refusalOf(body(max + 1)) ?? []
    expect([code, field]).toEqual([max === 50 ? 'too_many_candidates' : 'value_out_of_range', member])
    expect(message).toContain(`at most ${max} entries`)
  })

  it('50,000 months of locations and bills, if they are shown by location', () => {
    const candidates = listOf(
      49,
      (): SimulatedCandidate => ({ name: 'a', tariffs: null, charges: null, planId: null, marketSourceId: null }),
    )
    // 40 locations × 50 bills × 25 months.
    expect(refuseGroupedMonths({ isByLocation: true, candidates }, 40, 25)).toBeNull()
    expect(refuseGroupedMonths({ isByLocation: true, candidates }, 1_000, 1)).toBeNull()
    expect(refuseGroupedMonths({ isByLocation: false, candidates }, 1_000, 36)).toBeNull()
    expect(refuseGroupedMonths({ isByLocation: true, candidates: candidates.slice(1) }, 50_001, 1)).toMatchObject({
      code: 'value_out_of_range',
      field: 'group_by',
    })
    expect(refuseGroupedMonths({ isByLocation: true, candidates: [] }, 50_001, 1)).toMatchObject({
      message: expect.stringMatching(/50,001 months .* at most 50,000\. Simulate fewer/),
    })
  })
})
