import { describe, expect, it } from 'vitest'
import { fromWarningsHeader, toWarningsHeader } from '../../../../services/platform/log/warnings-header.ts'

describe('the header with warnings', () => {
  it('is read as it was written', () => {
    const warnings = [
      { code: 'implausible_energy', records: 101, recordNumbers: [1, 2, 10_000] },
      { code: 'overlapping_records', records: 2, recordNumbers: [7, 8] },
    ] as const
    expect(fromWarningsHeader(toWarningsHeader(warnings))).toEqual(warnings)
  })

  it('is absent without warnings', () => {
    expect(toWarningsHeader([])).toEqual({})
    expect(fromWarningsHeader({})).toEqual([])
  })

  it('can have codes of a later release, which are left out', () => {
    expect(fromWarningsHeader({ warnings: 'later:1:1;overlapping_records:2:3,4' })).toEqual([
      { code: 'overlapping_records', records: 2, recordNumbers: [3, 4] },
    ])
  })
})
