import { describe, expect, it } from 'vitest'
import { bodyCapacity } from '../../../../../services/platform/http/capacity/body-capacity.ts'

/** A room of 1,000,000 bytes with a clock that the test sets. */
const roomOf = () => {
  const clock = { at: 0 }
  let used = 0
  const room = bodyCapacity({
    add: (_, __, bytes) => {
      used += bytes
    },
    fits: (_, __, bytes) => used + bytes <= 1_000_000,
    minBytes: 1_000,
    now: () => clock.at,
  })
  const yielded: string[] = []
  const enter = (name: string, weight: number, bytes = () => 0, isComplete = () => false) =>
    room.admit({
      name,
      liveMode: true,
      weight,
      maxBytes: weight,
      inflationFactor: 1,
      arrival: { bytes, isComplete },
      onCapacityLost: () => yielded.push(name),
    })
  return { clock, enter, yielded, used: () => used }
}

describe('the capacity of arriving bodies', () => {
  it('is the announced size until another body needs capacity, then the bytes that have arrived', () => {
    const { enter, used } = roomOf()
    const first = enter('a', 900_000, () => 300_000)
    expect(used()).toBe(900_000)
    expect(enter('b', 500_000)).not.toBeNull()
    expect(used()).toBe(800_000)
    expect(enter('c', 800_000)).toBeNull()
    // The second one was announced and has not come either.
    expect(used()).toBe(301_000)
    expect(first?.reportBytes(900_000)).toBe(true)
    first?.release()
    expect(used()).toBe(1_000)
  })

  it('goes to other requests if a body stops arriving, and that body gets no capacity again', () => {
    const { clock, enter, yielded, used } = roomOf()
    const stalled = enter('stalled', 990_000, () => 989_000)
    clock.at = 2_000
    // It came fast enough so far.
    expect(enter('b', 100_000)).toBeNull()
    expect(yielded).toEqual([])
    clock.at = 4_000
    expect(enter('b', 100_000)).not.toBeNull()
    expect([yielded, used()]).toEqual([['stalled'], 100_000])
    expect(stalled?.reportBytes(1_000)).toBe(false)
    stalled?.release()
    expect(used()).toBe(100_000)
  })

  it('stays with a complete body until its work ends', () => {
    const { clock, enter, yielded } = roomOf()
    enter(
      'whole',
      990_000,
      () => 0,
      () => true,
    )
    clock.at = 300_000
    expect(enter('b', 100_000)).toBeNull()
    expect(yielded).toEqual([])
  })
})
