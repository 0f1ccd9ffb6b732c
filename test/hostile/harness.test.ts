import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../support/random.ts'
import { endProcess, nextMessage } from '../support/system/child-process.ts'
import { chooseCases } from '../support/test-run/short-form.ts'
import { inputsInShort, pathsOf } from './choose-inputs.ts'
import { corpus } from './corpus.ts'
import { exceptions, knownMisses, knownShareMisses } from './exceptions.ts'
import type { HostileInput } from './input.ts'
import { fullEffort } from './measure.ts'

import type { Wait } from './probe.ts'
import { type CorpusRun, openCorpusRun } from './run-corpus.ts'
import { callerOf, type Target } from './target.ts'
import { verify } from './verdict.ts'

/** Start a service with planted faults. */
const openPlanted = async (): Promise<Target & AsyncDisposable> => {
  const child = fork(new URL('planted-process.ts', import.meta.url).pathname)
  const { port, metricsPort } = await nextMessage<{ readonly port: number; readonly metricsPort: number }>(child)
  const serviceUrl = `http://127.0.0.1:${port}`
  const caller = callerOf(serviceUrl, 'none')
  const request = { method: 'GET', headers: {} }
  return {
    serviceUrl,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    pids: [child.pid ?? 0],
    requests: [
      { kind: 'live', path: '/health/live', ...request },
      { kind: 'object', path: '/planted/1', ...request },
    ],
    hostile: caller,
    hostileTest: caller,
    other: caller,
    sandbox: { base_url: serviceUrl, account_id: '', live_key: '', test_key: '', operator_key: '' },
    [Symbol.asyncDispose]: () => endProcess(child),
  }
}

const plantedInput = (path: string, size: number, more: Partial<HostileInput> = {}): HostileInput => ({
  subject: 'planted',
  name: path,
  size,
  unit: 'bytes',
  statuses: [200],
  open: async ({ hostile }, bytes) => {
    const body = Buffer.alloc(bytes, 32)
    return async () => [(await hostile.send('POST', `/planted/${path}`, body)).status]
  },
  ...more,
})

let run: CorpusRun | undefined
beforeAll(async () => {
  run = await openCorpusRun({ roundMs: fullEffort.roundMs, comparisons: 2, attempts: 1 }, openPlanted)
})
afterAll(() => run?.[Symbol.asyncDispose]())

const missesOf = async (input: HostileInput): Promise<readonly string[]> => {
  const { verdict } = (await run?.play(input)) ?? expect.fail()
  return verdict.misses
}

describe('measurement of hostile inputs', { timeout: 120_000 }, () => {
  it('passes work that is linear in its size and runs in short turns', async () => {
    const line = plantedInput('line', 1_000_000)
    const misses = await missesOf(line)
    // Another process can disturb one measurement, so the runs of the corpus measure again too.
    expect(misses.length === 0 ? misses : await missesOf(line)).toEqual([])
  })

  it('finds a turn of 300 ms in the waits of the probes and in the metric of the longest turn', async () => {
    const { measured, verdict } = (await run?.play(plantedInput('block', 300, { growsTo: null }))) ?? expect.fail()
    const waited = (kind: string) =>
      expect.stringMatching(new RegExp(`^\\d+ ${kind} probes waited up to (?:2[5-9]|[3-9]\\d|\\d{3})\\d ms$`))
    // On a busy machine the limit for reads is higher, or reads are not verified.
    expect(verdict.misses).toEqual([
      waited('live'),
      ...(verdict.misses.length > 1 || !verdict.isMachineBusy ? [waited('object')] : []),
    ])
    expect(measured.longestTurnMs).toBeGreaterThan(280)
    expect(measured.round.waits.length).toBeGreaterThanOrEqual(200)
  })

  it('finds work that is quadratic in its size, although all its turns are short', async () => {
    expect(await missesOf(plantedInput('square', 8_000))).toEqual([expect.stringMatching(/^CPU time grew \d+\.\d ×$/)])
  })

  it('finds an answer with an unexpected status, and an effect that does not end', async () => {
    expect(await missesOf(plantedInput('none', 10, { growsTo: null }))).toEqual(['status 405'])
    const endless = plantedInput('line', 10, {
      growsTo: null,
      isOnce: true,
      endsWithinS: 1,
      open: async () => () => new Promise(() => undefined),
    })
    expect(await missesOf(endless)).toContain('not done within 1 s')
  })
})

describe('the verdict', () => {
  const wait: Wait = { kind: 'live', ms: 1, status: 200, code: '', ranMs: 0, queuedMs: 0 }
  const refusedRead: Wait = { ...wait, kind: 'object', status: 503, code: 'unavailable' }
  const missesOfReads = (reads: readonly Wait[], otherCpu: number): readonly string[] => {
    const round = { waits: [wait, ...reads], referenceMs: [] }
    const input = plantedInput('line', 10)
    const measurement = {
      input,
      statuses: [200],
      plays: 1,
      endedMs: 10,
      round,
      otherCpu,
      longestTurnMs: 1,
      isOldTurn: false,
      cpuMs: null,
    }
    return verify(measurement, { round: { waits: [wait], referenceMs: [] }, cpuRate: 0 }).misses
  }

  it('lists refused probes by kind, status and error code, and allows a few on a busy machine', () => {
    const answered = Array.from({ length: 9 }, () => ({ ...wait, kind: 'object' as const }))
    expect(missesOfReads([...answered, refusedRead], 0)).toEqual(['1 object probes answered 503 unavailable'])
    expect(missesOfReads([...answered, refusedRead], 1)).toEqual([])
    expect(missesOfReads([refusedRead, refusedRead], 1)).toEqual(['2 object probes answered 503 unavailable'])
  })
})

describe('the inputs of a short run', () => {
  const short = corpus.filter(({ isShort }) => isShort === true)
  const choose = (changed: readonly string[] | null, seed = 1) =>
    chooseCases(inputsInShort(short), changed, seededRandom(seed))

  it('are a third at random, and come to all within few seeds', () => {
    expect(choose(['docs/api.md']).length).toBeLessThan(short.length / 2)
    const seen = new Set(Array.from({ length: 40 }, (_, seed) => choose([], seed)).flat())
    expect(seen.size).toBe(short.length)
  })

  it.each(Object.entries(pathsOf))('are all of %s after a change of their code', (subject, paths) => {
    const ofSubject = short.filter(one => one.subject === subject)
    for (const path of paths) {
      expect(existsSync(`services/${path}`), path).toBe(true)
      expect(choose([`services/${path}`])).toEqual(expect.arrayContaining(ofSubject))
    }
  })

  it.each([
    ['the code of all requests', ['services/platform/http/app.ts']],
    ['the measurement', ['test/hostile/measure.ts']],
    ['something unknown', null],
  ] as const)('are all after a change of %s', (_, changed) => {
    expect(choose(changed)).toEqual(short)
  })

  it('have a subject with paths', () => {
    expect(corpus.map(({ subject }) => subject).filter(subject => pathsOf[subject] === undefined)).toEqual([])
  })
})

describe('the corpus', () => {
  it('has unique names, and contains all inputs of the exceptions and known misses', () => {
    const names = corpus.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const named = [...exceptions.map(({ input }) => input), ...knownMisses, ...knownShareMisses]
    expect(named.filter(name => !names.includes(name))).toEqual([])
  })
})
