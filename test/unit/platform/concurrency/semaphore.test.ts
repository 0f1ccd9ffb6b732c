import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { semaphore } from '../../../../services/platform/concurrency/semaphore.ts'

describe('a semaphore', () => {
  it('runs work in order, with limited concurrency, also if some work fails', async () => {
    const pieces = fc.array(fc.record({ ticks: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }), {
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), pieces, async (atOnce, works) => {
        const inTurn = semaphore(atOnce)
        const begun: number[] = []
        let running = 0
        let maxRunning = 0
        const done = works.map(({ ticks, fails }, index) =>
          inTurn(async () => {
            begun.push(index)
            running += 1
            maxRunning = Math.max(maxRunning, running)
            for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve()
            running -= 1
            if (fails) throw new RangeError('planned')
            return index
          }),
        )
        const ends = await Promise.allSettled(done)
        expect(ends.map(({ status }) => status)).toEqual(works.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')))
        expect(begun).toEqual(works.map((_, index) => index))
        expect(maxRunning).toBe(Math.min(atOnce, works.length))
      }),
      { numRuns: 200 },
    )
  })
})
