import type { Role } from '../../../services/platform/config/config.ts'
import type { RoleProcess } from './processes.ts'

/** The place of one process among those of its roles. Another takes it over, and for a while both live. */
export type RoleInstance = {
  readonly roles: readonly Role[]
  /** Null between the end of one process and the start of the next. */
  readonly process: () => RoleProcess | null
  /** All that were started here and are not gone. */
  readonly runningProcesses: () => readonly RoleProcess[]
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  /** Start the next process, let it take over, and have the old one stop; gives how that one ended. */
  readonly replace: () => Promise<StopResult>
  readonly stop: () => Promise<StopResult>
}

export type StopResult = { readonly code: number | null; readonly ms: number }

/** Make a post for processes of some roles, empty. Throws where a process that is asked for ended by itself. */
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
    if (detached?.isGone())
      throw new Error(`a process of ${roles.join()} ended by itself:\n${detached.output().slice(-4_000)}`)
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
    runningProcesses: () => [...started].filter(one => !one.isGone()),
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
