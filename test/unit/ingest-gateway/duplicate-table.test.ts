import { describe, expect, it } from 'vitest'
import { duplicateTable } from '../../../services/ingest-gateway/validate-plain.ts'

const id = (number: number) => ({ high: Math.imul(number, 0x9e3779b1), middle: number, low: -number })
const all = Array.from({ length: 5_000 }, (_, index) => index + 1)

describe('a duplicate table', () => {
  it('returns the number of the first record with an id', () => {
    const table = duplicateTable(5_000)
    expect(all.map(number => table.note(id(number % 2_500), number))).toEqual(
      all.map(number => (number > 2_500 ? number - 2_500 : 0)),
    )
  })

  it('is independent of another submission that is validated at the same time', () => {
    const tables = [duplicateTable(5_000), duplicateTable(5_000)]
    for (const number of all) for (const table of tables) expect(table.note(id(number), number)).toBe(0)
  })
})
