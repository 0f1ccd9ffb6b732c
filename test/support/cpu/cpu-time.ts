/** Return the CPU time of synchronous work on this thread, in ms. Other work of the machine does not count. */
export const cpuTimeMs = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/** Other work on the machine makes single rounds slow. If work is too slow, all rounds show it. */
const maxRounds = 15

/**
 * Return the least CPU time of equal rounds of work on this thread, in ms.
 * No more rounds follow when one takes less than `boundMs`.
 */
export const leastCpuTimeMs = async (boundMs: number, work: () => unknown): Promise<number> => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < maxRounds && least >= boundMs; round += 1) {
    const before = process.threadCpuUsage()
    await work()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
