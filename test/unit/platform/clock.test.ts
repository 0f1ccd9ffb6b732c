import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'

/** Load the clock without the state of other tests. */
const openClock = async (): Promise<typeof import('../../../services/platform/clock.ts')> => {
  vi.resetModules()
  return import('../../../services/platform/clock.ts')
}

afterEach(() => {
  vi.restoreAllMocks()
})

const hourMs = 3_600_000

describe('the clock of a process', () => {
  it('is the clock of the machine until it follows another one', async () => {
    const { currentInstant } = await openClock()
    expect(Math.abs(currentInstant() - Date.now())).toBeLessThan(5)
  })

  it.each([hourMs, -hourMs, 10_000, -10_000])('follows a clock that differs by %i ms', async difference => {
    const { currentInstant, followClock } = await openClock()
    const machine = Date.now.bind(Date)
    using _following = await followClock(async () => machine() + difference)
    expect(Math.abs(currentInstant() - machine() - difference)).toBeLessThan(20)
  })

  it('does not change with the clock of the machine, and goes on if the other clock is away', async () => {
    const { currentInstant, followClock } = await openClock()
    const machine = Date.now.bind(Date)
    let isAway = false
    using _following = await followClock(async () => {
      if (isAway) throw new Error('away')
      return machine()
    })
    isAway = true
    vi.spyOn(Date, 'now').mockImplementation(() => machine() - hourMs)
    await sleep(1_200)
    expect(Math.abs(currentInstant() - machine())).toBeLessThan(20)
  })

  it('follows a change of the other clock within a second', async () => {
    const { currentInstant, followClock } = await openClock()
    let difference = 0
    using _following = await followClock(async () => Date.now() + difference)
    difference = -hourMs
    await sleep(1_200)
    expect(Math.abs(currentInstant() - Date.now() + hourMs)).toBeLessThan(20)
  })

  it('prefers a quick reading to a slow one, whose time is uncertain', async () => {
    const { currentInstant, followClock } = await openClock()
    let delayMs = 400
    using _following = await followClock(async () => {
      const at = Date.now()
      await sleep(delayMs)
      return at
    })
    delayMs = 0
    await sleep(1_200)
    expect(Math.abs(currentInstant() - Date.now())).toBeLessThan(20)
  })

  it('does not follow a clock that it cannot read at the start', async () => {
    const { followClock } = await openClock()
    await expect(
      followClock(async () => {
        throw new Error('away')
      }),
    ).rejects.toThrow('away')
  })
})
