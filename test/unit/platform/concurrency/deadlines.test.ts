import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deadlines } from '../../../../services/platform/concurrency/deadlines.ts'

describe('deadlines', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('call each late task once, at its own limit', () => {
    const limits = deadlines(1_000)
    const late: string[] = []
    limits.start(() => late.push('first'))
    vi.advanceTimersByTime(400)
    limits.start(() => late.push('second'))
    vi.advanceTimersByTime(599)
    expect(late).toEqual([])
    vi.advanceTimersByTime(2)
    expect(late).toEqual(['first'])
    vi.advanceTimersByTime(398)
    expect(late).toEqual(['first'])
    vi.advanceTimersByTime(2)
    expect(late).toEqual(['first', 'second'])
    vi.advanceTimersByTime(10_000)
    expect(late).toEqual(['first', 'second'])
  })

  it('do not call a task that has ended, and need at most one timer', () => {
    const limits = deadlines(1_000)
    const late: number[] = []
    const started = Array.from({ length: 100 }, (_, index) => limits.start(() => late.push(index)))
    expect(vi.getTimerCount()).toBe(1)
    for (const [index, deadline] of started.entries()) if (index !== 70) limits.end(deadline)
    vi.advanceTimersByTime(1_001)
    expect(late).toEqual([70])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leave no timer after the last task, so that the process can end', () => {
    const limits = deadlines(1_000)
    const deadline = limits.start(() => undefined)
    limits.end(deadline)
    limits.end(deadline)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('can be started and ended by a task that is late', () => {
    const limits = deadlines(1_000)
    const late: string[] = []
    limits.start(() => {
      limits.end(other)
      limits.start(() => late.push('next'))
    })
    const other = limits.start(() => late.push('other'))
    vi.advanceTimersByTime(1_001)
    expect(late).toEqual([])
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1_001)
    expect(late).toEqual(['next'])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('deadlines on the real clock', () => {
  it('are not early, and late by some ms only', async () => {
    const limits = deadlines(50)
    const waits: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const startedAt = performance.now()
      limits.start(() => waits.push(performance.now() - startedAt))
      await sleep(20)
    }
    await sleep(200)
    expect(waits).toHaveLength(5)
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(50)
  })
})
