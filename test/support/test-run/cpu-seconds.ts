import { readFileSync } from 'node:fs'

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of a test file in seconds. */
    cpuSeconds?: number
  }
}

/** Clock ticks per second of the times in `/proc`. */
const ticks = 100

/** Return the CPU time of the processes that this process started and that have ended, with their own. 0 outside Linux. */
const endedChildren = (): number => {
  try {
    const [, fields = ''] = /^.*\) (.*)$/s.exec(readFileSync('/proc/self/stat', 'utf8')) ?? []
    const [user, system] = fields.split(' ').slice(13, 15).map(Number)
    return ((user ?? 0) + (system ?? 0)) / ticks
  } catch {
    return 0
  }
}

/** Return the CPU time in seconds of this process and of its ended children. */
export const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + endedChildren()
}

let counted = 0

/** Return the CPU time in seconds since the last call. The first call counts from the start of the process. */
export const newCpuSeconds = (): number => {
  const before = counted
  counted = cpuSeconds()
  return counted - before
}
