import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { discardChunks } from '../../../../services/platform/http/chunks.ts'
import {
  openWorkThread,
  type RunningWork,
  type WorkThread,
} from '../../../../services/platform/work-thread/work-thread.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import { until } from '../../../support/system/until.ts'
import type { StepsInput } from './work-thread-process.ts'

const open: WorkThread[] = []

const threadOf = (
  limits = { maxConcurrent: 6, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 16 },
  memoryMiB = 256,
  maxWaitingBytes = 1_000,
  maxThreads = 3,
  maxIdleMs = 60_000,
): WorkThread => {
  const script = new URL('./work-thread-process.ts', import.meta.url)
  const thread = openWorkThread({ script, maxThreads, maxIdleMs, limits, maxWaitingBytes, memoryMiB })
  open.push(thread)
  return thread
}

afterEach(async () => {
  for (const thread of open.splice(0)) await thread[Symbol.asyncDispose]()
})

const input = (steps: number, ms: number, chunks: number): StepsInput => ({
  steps,
  ms,
  chunks,
  done: new Int32Array(new SharedArrayBuffer(8)),
})

const never = new AbortController().signal

const beginSteps = (thread: WorkThread, of: StepsInput, account = 'acc_1', signal = never) =>
  thread.begin({ account, name: 'steps', input: of, signal })

const beganSteps = async (...of: Parameters<typeof beginSteps>): Promise<RunningWork> => {
  return acceptedValue(await beginSteps(...of))
}

const textOf = async ({ chunks }: RunningWork): Promise<string> => {
  let text = ''
  for await (const bytes of chunks) text += new TextDecoder().decode(bytes)
  return text
}

describe('work in a thread', () => {
  it('returns its head, then all of its bytes in order', async () => {
    const work = await beganSteps(threadOf(), input(3, 0, 100))
    expect(work.head).toEqual({ count: 3 })
    expect(await textOf(work)).toBe(Array.from({ length: 100 }, (_, index) => `${index},`).join(''))
  })

  it('does not block the thread of the caller', async () => {
    const thread = threadOf()
    await beganSteps(thread, input(1, 0, 1)).then(textOf)
    // The work takes 600 ms in its own thread.
    const work = () => beganSteps(thread, input(30, 20, 1)).then(textOf)
    expect(await leastCpuTimeMs(300, work)).toBeLessThan(300)
  })

  it('lets accounts take turns: a short task of one ends long before the many long tasks of another', async () => {
    const thread = threadOf()
    const long = [input(300, 10, 1), input(300, 10, 1)]
    const running = long.map(of => beganSteps(thread, of, 'acc_greedy').then(textOf))
    await until(
      () => long[0]?.done[0] ?? 0,
      done => done > 2,
    )
    const before = (long[0]?.done[0] ?? 0) + (long[1]?.done[0] ?? 0)
    await beganSteps(thread, input(10, 10, 1), 'acc_modest').then(textOf)
    // The account has a thread of its own: about as many steps of the others have passed, not six hundred.
    const passed = (long[0]?.done[0] ?? 0) + (long[1]?.done[0] ?? 0) - before
    expect(passed).toBeLessThan(200)
    expect(passed).toBeGreaterThan(0)
    await Promise.all(running)
  })

  it.runIf(process.platform === 'linux')('has a lower priority than the threads that answer', async () => {
    await beganSteps(threadOf(), input(1, 0, 1)).then(textOf)
    const priorities = readdirSync('/proc/self/task').map(task => getPriority(Number(task)))
    expect(Math.max(...priorities)).toBe(Math.min(getPriority() + 10, 19))
  })

  it('creates only a few more chunks than are read', async () => {
    const of = input(0, 0, 10_000)
    const work = await beganSteps(threadOf(), of)
    const iterator = work.chunks[Symbol.asyncIterator]()
    for (let taken = 0; taken < 10; taken += 1) await iterator.next()
    await sleep(200)
    expect(of.done[1]).toBeGreaterThanOrEqual(10)
    expect(of.done[1]).toBeLessThanOrEqual(16)
    await iterator.return?.()
  })

  it('ends after its bytes are discarded', async () => {
    const thread = threadOf({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 4 })
    const left = input(0, 0, 10_000)
    const work = await beganSteps(thread, left)
    await discardChunks(work.chunks)
    // The next one has the thread for itself.
    await beganSteps(thread, input(2, 1, 1)).then(textOf)
    expect(left.done[1]).toBeLessThan(10)
  })

  it('is left at once after a timeout, and keeps the slot of its account until the thread has done it', async () => {
    const thread = threadOf({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 4 })
    const timed = input(60, 10, 1)
    const request = new AbortController()
    const late = beginSteps(thread, timed, 'acc_1', request.signal)
    await until(
      () => timed.done[0] ?? 0,
      done => done > 0,
    )
    request.abort(new Error('out of time'))
    await expect(late).rejects.toThrow('out of time')
    expect(timed.done[0]).toBeLessThan(60)
    await beganSteps(thread, input(0, 0, 1)).then(textOf)
    expect(timed.done[0]).toBe(60)
  })

  it('never runs if it is left before a thread is free', async () => {
    const thread = threadOf(undefined, 256, 1_000, 1)
    const long = input(30, 10, 1)
    const running = beganSteps(thread, long).then(textOf)
    await until(
      () => long.done[0] ?? 0,
      done => done > 0,
    )
    const [waiting, request] = [input(1, 0, 1), new AbortController()]
    const left = beginSteps(thread, waiting, 'acc_2', request.signal)
    await sleep(20)
    request.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    await running
    await beganSteps(thread, input(0, 0, 1), 'acc_2').then(textOf)
    expect(waiting.done[0]).toBe(0)
  })

  it('uses the next free thread, and that of the account with the fewest works comes first', async () => {
    const thread = threadOf({ maxConcurrent: 6, maxConcurrentPerAccount: 3, maxWaitingPerAccount: 4 }, 256, 1_000, 2)
    const order: string[] = []
    const run = (account: string, steps: number) =>
      beganSteps(thread, input(steps, 10, 1), account)
        .then(textOf)
        .then(() => order.push(account))
    const greedy = [run('acc_greedy', 20), run('acc_greedy', 20), run('acc_greedy', 20)]
    await sleep(10)
    await Promise.all([...greedy, run('acc_modest', 1)])
    expect(order.indexOf('acc_modest')).toBeLessThanOrEqual(2)
    expect(order.at(-1)).toBe('acc_greedy')
  })

  it.runIf(process.platform === 'linux')('ends idle threads but one', async () => {
    const thread = threadOf(undefined, 256, 1_000, 3, 50)
    // Only work threads have a lower priority.
    const isLow = (task: string): boolean => {
      try {
        return getPriority(Number(task)) > getPriority()
      } catch {
        // The thread has just ended.
        return false
      }
    }
    const countOf = (): number => readdirSync('/proc/self/task').filter(isLow).length
    await beganSteps(thread, input(0, 0, 1)).then(textOf)
    const works = () =>
      ['acc_1', 'acc_2', 'acc_3'].map(account => beganSteps(thread, input(60, 10, 1), account).then(textOf))
    const before = works()
    await until(countOf, count => count === 3)
    await Promise.all(before)
    // The threads do work again when they would have been idle for too long.
    await Promise.all(works())
    await until(countOf, count => count === 1)
    expect(await beganSteps(thread, input(0, 0, 1)).then(textOf)).toBe('0,')
  })

  it('waits up to the limit of its account: n wait, n + 1 is refused', async () => {
    const thread = threadOf({ maxConcurrent: 2, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 3 })
    const first = input(0, 0, 10)
    const running = await beganSteps(thread, first)
    const maxWaitingPerAccount = Array.from({ length: 3 }, () => beganSteps(thread, input(0, 0, 1)).then(textOf))
    const refusal = await beginSteps(thread, input(0, 0, 1))
    expect(refusal.ok ? null : refusal.refusal.code).toBe('unavailable')
    // Another account is not refused.
    expect(await beganSteps(thread, input(0, 0, 1), 'acc_2').then(textOf)).toBe('0,')
    await textOf(running)
    expect(await Promise.all(maxWaitingPerAccount)).toEqual(['0,', '0,', '0,'])
  })

  it('waits with inputs up to the bytes of its account, and is refused beyond them', async () => {
    const thread = threadOf({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 16 }, 256, 100)
    const running = await beganSteps(thread, input(0, 0, 10))
    const begin = (bytes: number, account = 'acc_1') =>
      thread.begin({ account, name: 'steps', input: input(0, 0, 1), bytes, signal: never })
    // One alone may be of any size.
    const maxWaitingPerAccount = [begin(500), begin(40, 'acc_2'), begin(60, 'acc_2')]
    for (const refused of [await begin(1), await begin(1, 'acc_2')]) expect(refused.ok).toBe(false)
    const gone = new AbortController()
    const left = thread.begin({
      account: 'acc_3',
      name: 'steps',
      input: input(0, 0, 1),
      bytes: 100,
      signal: gone.signal,
    })
    gone.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    maxWaitingPerAccount.push(begin(100, 'acc_3'))
    const texts = maxWaitingPerAccount.map(async begun => {
      const work = await begun
      return work.ok ? textOf(work.value) : null
    })
    await textOf(running)
    expect(await Promise.all(texts)).toEqual(['0,', '0,', '0,', '0,'])
    const again = await begin(100)
    expect(again.ok && (await textOf(again.value))).toBe('0,')
  })

  it('fails without affecting other tasks', async () => {
    const thread = threadOf()
    const begin = (how: string) => thread.begin({ account: 'acc_1', name: 'broken', input: how, signal: never })
    await expect(begin('at the start')).rejects.toThrow('planned')
    const after = await begin('after the head')
    await expect(after.ok ? textOf(after.value) : null).rejects.toThrow('planned')
    expect(await beganSteps(thread, input(0, 0, 1)).then(textOf)).toBe('0,')
  })

  it('fails alone if its input cannot be copied', async () => {
    const thread = threadOf(undefined, 256, 1_000, 1)
    const begun = thread.begin({ account: 'acc_1', name: 'steps', input: () => 0, signal: never })
    await expect(begun).rejects.toThrow('could not be cloned')
    expect(await beganSteps(thread, input(0, 0, 1)).then(textOf)).toBe('0,')
  })

  it('fails after the thread is closed, also for waiting tasks; no thread starts again', async () => {
    const thread = threadOf({ maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 4 })
    const running = await beganSteps(thread, input(0, 0, 10_000))
    const maxWaitingPerAccount = beganSteps(thread, input(0, 0, 1))
    const isLost = { code: 'work_thread_lost', retriable: true }
    const failed = [
      expect(maxWaitingPerAccount).rejects.toMatchObject(isLost),
      expect(textOf(running)).rejects.toMatchObject(isLost),
    ]
    await thread[Symbol.asyncDispose]()
    await Promise.all(failed)
    await expect(beganSteps(thread, input(0, 0, 1))).rejects.toMatchObject(isLost)
  })

  it('is limited in memory over all threads: the largest thread ends, and the other goes on', async () => {
    const hold = (thread: WorkThread, account: string, mebibytes: number) => {
      const isReleased = new Int32Array(new SharedArrayBuffer(4))
      const begun = thread.begin({ account, name: 'hold', input: { mebibytes, isReleased }, signal: never })
      return { begun, release: () => Atomics.store(isReleased, 0, 1) }
    }
    const alone = hold(threadOf(undefined, 192), 'acc_2', 125)
    await sleep(1_000)
    alone.release()
    expect(await alone.begun).toMatchObject({ ok: true, value: { head: 125 } })
    const thread = threadOf(undefined, 192)
    const [smaller, larger] = [hold(thread, 'acc_1', 40), hold(thread, 'acc_2', 125)]
    await expect(larger.begun).rejects.toMatchObject({ code: 'work_thread_lost', retriable: true })
    smaller.release()
    expect(await smaller.begun).toMatchObject({ ok: true, value: { head: 40 } })
  })

  it('is limited in memory: the thread ends, not the process, and the next task starts a new thread', async () => {
    const thread = threadOf({ maxConcurrent: 6, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 16 }, 96)
    const begun = await thread.begin({ account: 'acc_1', name: 'broken', input: 'out of memory', signal: never })
    await expect(begun.ok ? textOf(begun.value) : null).rejects.toMatchObject({
      code: 'work_thread_lost',
      retriable: true,
      // The thread ends itself. The limit of V8 can end the process.
      cause: { message: 'Exit code 1' },
    })
    expect(await beganSteps(thread, input(0, 0, 1)).then(textOf)).toBe('0,')
  })
})
