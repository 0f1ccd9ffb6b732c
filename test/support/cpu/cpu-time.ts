/** Return the CPU time of synchronous work on this thread, in ms. Other work of the machine does not count. */
export const cpuTimeMs = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
