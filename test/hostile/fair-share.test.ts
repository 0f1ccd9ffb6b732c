import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fairShareInputs, measureShare } from './fair-share.ts'
import { openShares } from './open-misses.ts'
import { type CorpusSetup, openBench } from './run-corpus.ts'
import { openTarget } from './target.ts'

const forMs = 4_000

let bench: CorpusSetup | undefined
beforeAll(async () => {
  bench = await openBench(openTarget)
})
afterAll(() => bench?.[Symbol.asyncDispose]())

describe('an account that does as much as it may', { timeout: 300_000 }, () => {
  for (const input of fairShareInputs) {
    if (openShares.includes(input.name)) {
      it.todo(`leaves others their share: ${input.name} (missed when last measured: open-misses.ts)`)
      continue
    }
    it(`leaves others their share: ${input.name}`, async () => {
      const { target, probe } = bench ?? expect.fail()
      let share = await measureShare(target, probe, input, forMs)
      // Other work on the machine makes single measurements miss. A fault misses in each.
      for (let left = 2; left > 0 && share.misses.length > 0; left -= 1)
        share = await measureShare(target, probe, input, forMs)
      expect(share.misses, JSON.stringify(share)).toEqual([])
    })
  }
})
