import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type SubmittedValues, valueChanges } from '../../../../services/domain/record/correction.ts'

const values = (energy: bigint, sourceVersion: bigint, confidence = 1_000_000): SubmittedValues => ({
  energy,
  sourceVersion,
  confidence,
  batchId: null,
  receivedAt: Number(sourceVersion),
})

const texts = (stored: SubmittedValues | null, received: readonly SubmittedValues[]): readonly string[] =>
  valueChanges(stored, received).map(({ before, after }) => `${before.energy} to ${after.energy}`)

describe('the corrections of a record', () => {
  it('are the changes of its values in the order of arrival', () => {
    expect(texts(null, [values(5n, 1n)])).toEqual([])
    expect(texts(null, [values(7n, 3n), values(5n, 1n), values(6n, 2n)])).toEqual(['5 to 6', '6 to 7'])
    expect(texts(values(5n, 1n), [values(5n, 2n)])).toEqual([])
    expect(texts(values(5n, 1n), [values(5n, 2n, 500_000)])).toEqual(['5 to 5'])
  })

  it('leave out values that are older than the stored values', () => {
    expect(texts(values(5n, 4n), [values(9n, 3n), values(9n, 4n), values(6n, 5n)])).toEqual(['5 to 6'])
  })

  it('are the same for any division into steps, and for repeated steps', () => {
    const sent = fc.array(fc.bigInt(1n, 3n), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(sent, fc.array(fc.nat(12), { maxLength: 6 }), (energies, cuts) => {
        const all = energies.map((energy, index) => values(energy, BigInt(index + 1)))
        const together = new Set(texts(null, all).map((text, index) => `${index} ${text}`))
        const found = new Set<string>()
        let stored: SubmittedValues | null = null
        const inOrder: string[] = []
        for (const end of [...cuts.toSorted((a, b) => a - b), all.length]) {
          // A repeat after a crash begins at the first record again.
          const step = all.slice(0, end)
          inOrder.push(...texts(stored, step))
          const newest = step.at(-1)
          if (newest !== undefined && (stored === null || newest.sourceVersion > stored.sourceVersion)) stored = newest
        }
        for (const [index, text] of inOrder.entries()) found.add(`${index} ${text}`)
        expect(found).toEqual(together)
      }),
    )
  })
})
