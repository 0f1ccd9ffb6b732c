import { readdirSync, readFileSync } from 'node:fs'

/** Length of a tick of `/proc`, in ms: USER_HZ is 100 on every Linux. */
const tickMs = 10

/** The fields of `/proc/<pid>/stat` behind the name, from `state` on; empty if the process is gone. */
const statOf = (pid: number): readonly string[] => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** Return the CPU time of processes and of all that they started, user and system, in ms. */
export const cpuMsOf = (roots: readonly number[]): number => {
  const stats = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => ({ pid: Number(name), fields: statOf(Number(name)) }))
  const parents = new Map(stats.map(({ pid, fields }) => [pid, Number(fields[1])]))
  const isOf = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (roots.includes(pid) || isOf(parents.get(pid)))
  // What a child of PostgreSQL used that has ended is counted at its parent.
  const ticksOf = (fields: readonly string[]): number =>
    [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0)
  return stats.filter(({ pid }) => isOf(pid)).reduce((sum, { fields }) => sum + ticksOf(fields), 0) * tickMs
}

/** Return the CPU time that the machine has used, in ms over all CPUs. */
export const machineCpuMs = (): number => {
  const [, user, nice, system, , , irq, softIrq, steal] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  ).split(/ +/)
  return [user, nice, system, irq, softIrq, steal].reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs
}
