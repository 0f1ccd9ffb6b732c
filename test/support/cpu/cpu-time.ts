/** Return the CPU time that synchronous work takes on this thread, in ms: a busy machine does not count. */
export const cpuTimeMs = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
