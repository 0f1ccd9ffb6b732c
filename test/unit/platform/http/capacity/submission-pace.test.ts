import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { submissionPace } from '../../../../../services/platform/http/capacity/submission-pace.ts'

const mebibyte = 2 ** 20
const maxBytes = 128 * mebibyte

/** Pace of a process with a clock of the test. `answer` answers bytes in time, while others wait. */
const openPace = () => {
  let at = 0
  const pace = submissionPace(maxBytes, () => at)
  const answer = (bytesPerSecond: number, seconds: number, waitingBytes = 8 * mebibyte): void => {
    for (const end = at + seconds * 1000; at < end; ) {
      at += 100
      pace.noteAnswered(bytesPerSecond / 10, waitingBytes)
    }
  }
  const wait = (seconds: number): void => {
    at += seconds * 1000
  }
  return { pace, answer, wait }
}

describe('the capacity of submissions', () => {
  it('is what the process answers in 4 s while submissions wait', () => {
    const { pace, answer } = openPace()
    expect(pace.capacityBytes(8 * mebibyte)).toBe(maxBytes)
    answer(6 * mebibyte, 10)
    // 6 MiB/s · 4 s = 24 MiB.
    expect(pace.capacityBytes(8 * mebibyte) / mebibyte).toBeCloseTo(24, 0)
    answer(10 * mebibyte, 10)
    expect(pace.capacityBytes(8 * mebibyte) / mebibyte).toBeCloseTo(40, 0)
    answer(100 * mebibyte, 10)
    expect(pace.capacityBytes(8 * mebibyte)).toBe(maxBytes)
  })

  it('does not fall if callers send little', () => {
    const { pace, answer, wait } = openPace()
    answer(1_000, 60, 500_000)
    expect(pace.capacityBytes(500_000)).toBe(maxBytes)
    // A pause between two bursts says nothing about the pace.
    wait(600)
    expect(pace.capacityBytes(500_000)).toBe(maxBytes)
    answer(32 * mebibyte, 10)
    expect(pace.capacityBytes(8 * mebibyte)).toBe(maxBytes)
  })

  it('falls to 16 MiB if no answer comes, and rises again with the answers', () => {
    const { pace, answer, wait } = openPace()
    for (let second = 0; second < 10; second += 1) {
      pace.capacityBytes(8 * mebibyte)
      wait(1)
    }
    expect(pace.capacityBytes(8 * mebibyte)).toBe(16 * mebibyte)
    answer(20 * mebibyte, 10)
    expect(pace.capacityBytes(8 * mebibyte) / mebibyte).toBeCloseTo(80, 0)
  })

  it('stays between its bounds for any course', () => {
    const step = fc.record({
      seconds: fc.integer({ min: 1, max: 20 }),
      bytesPerSecond: fc.integer({ min: 0, max: 2 ** 28 }),
      waitingBytes: fc.integer({ min: 0, max: 2 ** 26 }),
    })
    fc.assert(
      fc.property(fc.array(step), steps => {
        const { pace, answer } = openPace()
        for (const { seconds, bytesPerSecond, waitingBytes } of steps) {
          answer(bytesPerSecond, seconds, waitingBytes)
          const capacityBytes = pace.capacityBytes(waitingBytes)
          expect(capacityBytes).toBeGreaterThanOrEqual(16 * mebibyte)
          expect(capacityBytes).toBeLessThanOrEqual(maxBytes)
        }
      }),
    )
  })
})
