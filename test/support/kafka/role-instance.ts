import type { Role } from '../../../services/platform/config/config.ts'
import type { RoleProcess } from './processes.ts'

/** One instance of some roles. Its process can be replaced; for a short time, the old and the new process run. */
export type RoleInstance = {
  readonly roles: readonly Role[]
  /** Return the current process; null between the end of one process and the start of the next. */
  readonly process: () => RoleProcess | null
  /** Return all processes of this instance that still run. */
  readonly runningProcesses: () => readonly RoleProcess[]
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  /** Start a new process, then stop the old one. Return the result of the stop. */
  readonly replace: () => Promise<StopResult>
  readonly stop: () => Promise<StopResult>
}

export type StopResult = { readonly code: number | null; readonly ms: number }

/** Create an instance without a process. Its methods throw if the current process has ended without a signal. */
export const roleInstance = (
  roles: readonly Role[],
  start: (roles: readonly Role[]) => Promise<RoleProcess>,
): RoleInstance => {
  const started = new Set<RoleProcess>()
  let current: RoleProcess | null = null

  const launch = async (): Promise<RoleProcess> => {
    const launched = await start(roles)
    started.add(launched)
    return launched
  }
  const detach = (): RoleProcess | null => {
    const detached = current
    current = null
    if (detached?.hasExited())
      throw new Error(`The process of ${roles.join()} ended without a signal:\n${detached.output().slice(-4_000)}`)
    return detached
  }
  const stopProcess = async (old: RoleProcess | null): Promise<StopResult> => {
    const startedAt = performance.now()
    const code = old === null ? 0 : await old.end('SIGTERM')
    return { code, ms: performance.now() - startedAt }
  }
  return {
    roles,
    process: () => current,
    runningProcesses: () => [...started].filter(one => !one.hasExited()),
    start: async () => {
      current = await launch()
    },
    kill: async () => void (await detach()?.end('SIGKILL')),
    replace: async () => {
      const next = await launch()
      const old = detach()
      current = next
      return stopProcess(old)
    },
    stop: () => stopProcess(detach()),
  }
}
