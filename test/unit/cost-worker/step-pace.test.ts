import { describe, expect, it } from 'vitest'
import { openStepPace } from '../../../services/cost-worker/step-pace.ts'

const never = new AbortController().signal
const isSmall = (): boolean => false
const isLarge = (): boolean => true
const rested = (): number => performance.eventLoopUtilization().idle

/** Keep the thread busy while work runs. */
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

/** Wait of the next step, and idle time of the thread during the wait, in ms. */
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

  it('wait longer for more records while the thread is busy, up to a limit', async () => {
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
