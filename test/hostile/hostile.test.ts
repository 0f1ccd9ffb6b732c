import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { casesOfRun } from '../support/test-run/short-form.ts'
import { inputsInShort } from './choose-inputs.ts'
import { corpus } from './corpus.ts'
import { knownMisses } from './exceptions.ts'
import { shortEffort } from './measure.ts'
import { heading, line } from './report.ts'
import { type CorpusRun, openCorpusRun } from './run-corpus.ts'

const short = corpus.filter(({ isShort }) => isShort === true)
/** Selected inputs, with fewer probes and without the growth of CPU time. `npm run hostile` plays all inputs. */
const chosen = casesOfRun(inputsInShort(short))
const isKnownMiss = (name: string): boolean => knownMisses.includes(name)

let run: CorpusRun | undefined
beforeAll(async () => {
  run = await openCorpusRun(shortEffort)
})
afterAll(() => run?.[Symbol.asyncDispose]())

describe('while the service processes an input, other requests wait at most 100 ms longer', {
  timeout: 300_000,
}, () => {
  for (const input of chosen.filter(({ name }) => !isKnownMiss(name))) {
    it(`${input.subject}: ${input.name}`, async () => {
      const { measured, verdict } = (await run?.play(input)) ?? expect.fail()
      expect(verdict.misses, `\n${heading()}\n${line(measured, verdict)}`).toEqual([])
    })
  }
  for (const { subject, name } of corpus.filter(one => isKnownMiss(one.name)))
    it.todo(`${subject}: ${name} (known miss)`)
})
