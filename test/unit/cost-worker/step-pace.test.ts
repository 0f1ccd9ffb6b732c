import { describe, expect, it } from 'vitest'
import { openStepPace } from '../../../services/cost-worker/step-pace.ts'

const never = new AbortController().signal
const isSmall = (): boolean => false
const isLarge = (): boolean => true
const rested = (): number => performance.eventLoopUtilization().idle

/** Leave the thread no rest while work goes on. */
const withoutRest = async (work: Promise<unknown>): Promise<void> => {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  const turn = (): void => {
    const until = performance.now() + 5
    while (performance.now() < until);
    if (!isOver) setImmediate(turn)
  }
  turn()
  await over
}

/** How long (ms) the next step of a pace waits, and how much of that the thread rests. */
const waitOf = async (wait: () => Promise<void>) => {
  const [startedAt, restedBefore] = [performance.now(), rested()]
  await wait()
  return { waitedMs: performance.now() - startedAt, restedMs: rested() - restedBefore }
}

describe('small steps', () => {
  it('begin at once where none began before', async () => {
    const pace = openStepPace()
    let looks = 0
    await pace.wait(() => {
      looks += 1
      return false
    }, never)
    expect(looks).toBe(0)
  })

  it('begin once the thread has rested a little since the last one', async () => {
    const pace = openStepPace()
    pace.begin()
    const { waitedMs, restedMs } = await waitOf(() => pace.wait(isSmall, never))
    expect(waitedMs).toBeGreaterThanOrEqual(49)
    expect(restedMs).toBeLessThan(150)
  })

  it('let more records gather while the thread is busy, but not for long', async () => {
    const pace = openStepPace()
    pace.begin()
    const { waitedMs, restedMs } = await waitOf(() => withoutRest(pace.wait(isSmall, never)))
    expect(restedMs).toBeLessThan(50)
    expect(waitedMs).toBeGreaterThanOrEqual(290)
  })

  it('wait no longer once they are large, or the worker stops', async () => {
    const pace = openStepPace()
    pace.begin()
    const stopped = AbortSignal.abort()
    const { waitedMs } = await waitOf(() =>
      withoutRest(Promise.all([pace.wait(isLarge, never), pace.wait(isSmall, stopped)])),
    )
    expect(waitedMs).toBeLessThan(290)
  })
})
