import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { corpus } from './corpus.ts'
import { shortEffort } from './measure.ts'
import { open } from './open-misses.ts'
import { heading, line } from './report.ts'
import { type CorpusRun, openCorpusRun } from './run-corpus.ts'

/** The most telling inputs, with fewer probes and without the growth of CPU time; `test/hostile/run.ts` plays all of them in full. */
const chosen = corpus.filter(({ isShort }) => isShort === true)
const isOpen = (name: string): boolean => open.includes(name)

let run: CorpusRun | undefined
beforeAll(async () => {
  run = await openCorpusRun(shortEffort)
})
afterAll(() => run?.[Symbol.asyncDispose]())

describe('while an input is worked on, others wait at most 100 ms longer', { timeout: 300_000 }, () => {
  for (const input of chosen.filter(({ name }) => !isOpen(name))) {
    it(`${input.subject}: ${input.name}`, async () => {
      const { measured, verdict } = (await run?.play(input)) ?? expect.fail()
      expect(verdict.misses, `\n${heading()}\n${line(measured, verdict)}`).toEqual([])
    })
  }
  for (const { subject, name } of corpus.filter(one => isOpen(one.name)))
    it.todo(`${subject}: ${name} (missed when last played: open-misses.ts)`)
})
