import { constants, setPriority } from 'node:os'
import type { HostileInput } from './input.ts'
import { type Effort, type Idle, type Measurement, measure, measureIdle } from './measure.ts'
import { openProbe, type Probe } from './probe.ts'
import { openTarget, type Target } from './target.ts'
import { type Verdict, verify } from './verdict.ts'

/** Service with its probe, and its measurement at rest. */
export type CorpusSetup = AsyncDisposable & {
  readonly target: Target
  readonly probe: Probe
  readonly idle: Idle
  readonly openedAt: number
}

const idleMs = 3_000
/** Age at which a service is replaced, in ms, because bearer tokens expire after 1 h. */
const oldMs = 2_400_000

/**
 * Lower the priority of this process, which sends the inputs. A real client runs on another machine.
 * Child processes inherit the priority, so it is raised before a service is started.
 */
const lowerPriority = (): void => setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
const raisePriority = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_NORMAL)
  } catch (error) {
    // Only a privileged user may raise a priority. Without the right, the new service also has the low priority.
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
  }
}

/** Start a service with its probe, and measure it at rest. */
export const openSetup = async (open: () => Promise<Target & AsyncDisposable>): Promise<CorpusSetup> => {
  await using opening = new AsyncDisposableStack()
  raisePriority()
  const target = opening.use(await open())
  const probe = opening.use(
    await openProbe({ serviceUrl: target.serviceUrl, pid: target.pids[0] ?? 0, requests: target.requests }),
  )
  lowerPriority()
  await measureIdle(target, probe, 500)
  const idle = await measureIdle(target, probe, idleMs)
  const opened = opening.move()
  return { target, probe, idle, openedAt: performance.now(), [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

export type Outcome = { readonly measured: Measurement; readonly verdict: Verdict }

/** Measures inputs one after the other on one service. The service is replaced if an input does not end. */
export type CorpusRun = AsyncDisposable & { readonly play: (input: HostileInput) => Promise<Outcome> }

/**
 * Start a service for a run of inputs. An input that misses is measured again, and the outcome with the fewest misses
 * counts.
 */
export const openCorpusRun = async (
  effort: Effort,
  open: () => Promise<Target & AsyncDisposable> = openTarget,
): Promise<CorpusRun> => {
  let setup = await openSetup(open)
  const replace = async (): Promise<void> => {
    await setup[Symbol.asyncDispose]()
    setup = await openSetup(open)
  }
  const once = async (input: HostileInput): Promise<Outcome> => {
    const { target, probe, idle } = setup
    try {
      const measured = await measure(target, probe, input, idle, effort)
      if (measured.endedMs === null || performance.now() - setup.openedAt > oldMs) await replace()
      return { measured, verdict: verify(measured, idle) }
    } catch (error) {
      await replace()
      throw error
    }
  }
  return {
    play: async input => {
      let best = await once(input)
      for (let left = effort.attempts - 1; left > 0 && best.verdict.misses.length > 0; left -= 1) {
        const next = await once(input)
        if (next.verdict.misses.length <= best.verdict.misses.length) best = next
      }
      return best
    },
    [Symbol.asyncDispose]: () => setup[Symbol.asyncDispose](),
  }
}
