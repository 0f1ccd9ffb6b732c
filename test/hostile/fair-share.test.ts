import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { knownShareMisses } from './exceptions.ts'
import { fairShareInputs, measureShare } from './fair-share.ts'
import { type CorpusSetup, openSetup } from './run-corpus.ts'
import { openTarget } from './target.ts'

const forMs = 4_000

let setup: CorpusSetup | undefined
beforeAll(async () => {
  setup = await openSetup(openTarget)
})
afterAll(() => setup?.[Symbol.asyncDispose]())

describe('an account that uses all its limits', { timeout: 300_000 }, () => {
  for (const input of fairShareInputs) {
    if (knownShareMisses.includes(input.name)) {
      it.todo(`leaves other accounts their share: ${input.name} (known miss)`)
      continue
    }
    it(`leaves other accounts their share: ${input.name}`, async () => {
      const { target, probe } = setup ?? expect.fail()
      let share = await measureShare(target, probe, input, forMs)
      // Other processes can make a single measurement miss. A fault of the service misses in all.
      for (let left = 4; left > 0 && share.misses.length > 0; left -= 1)
        share = await measureShare(target, probe, input, forMs)
      expect(share.misses, JSON.stringify(share)).toEqual([])
    })
  }
})
