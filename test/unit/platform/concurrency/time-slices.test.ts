import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { runInTimeSlices, startTimeSlices } from '../../../../services/platform/concurrency/time-slices.ts'

/** Use CPU time without a pause, in ms. */
const use = (ms: number): void => {
  const before = process.threadCpuUsage()
  for (let usedMs = 0; usedMs < ms; ) {
    const { user, system } = process.threadCpuUsage(before)
    usedMs = (user + system) / 1_000
  }
}

function* work(name: string, slices: number, done: string[]): Generator<void> {
  for (let at = 0; at < slices; at += 1) {
    use(9)
    done.push(name)
    yield
  }
}

describe('slices of long work', () => {
  it('are limited to one per turn of the event loop', async () => {
    const done: string[] = []
    let isOver = false
    const loopPasses: number[] = []
    const watch = async (): Promise<void> => {
      for (let seen = 0; !isOver; seen = done.length) {
        await nextTurn()
        loopPasses.push(done.length - seen)
      }
    }
    const works = Array.from({ length: 8 }, (_, at) => runInTimeSlices(work(`${at}`, 4, done), `acc_${at}`))
    // The first slice of each work is due in the turn in which all of them began.
    const watching = watch()
    await Promise.all(works)
    isOver = true
    await watching
    expect(done.length).toBe(32)
    expect(Math.max(...loopPasses.slice(1))).toBeLessThanOrEqual(2)
  })

  it('go to accounts in turn: an account with much work delays only itself', async () => {
    const done: string[] = []
    const greedy = Array.from({ length: 20 }, () => runInTimeSlices(work('greedy', 3, done), 'acc_a'))
    await runInTimeSlices(work('other', 3, done), 'acc_b')
    expect(done.lastIndexOf('other')).toBeLessThanOrEqual(20 + 8)
    await Promise.all(greedy)
    expect(done.length).toBe(63)
  })

  it('share the time of a turn: work that starts in a used-up turn pauses at once', async () => {
    await nextTurn()
    const first = startTimeSlices('acc_a')
    expect(first.isOver()).toBe(false)
    use(9)
    const second = startTimeSlices('acc_b')
    expect([first.isOver(), second.isOver()]).toEqual([true, true])
    await second.pause()
    expect(second.isOver()).toBe(false)
  })
})
