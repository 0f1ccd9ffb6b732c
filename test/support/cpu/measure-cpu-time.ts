const sampleMs = 100
/** CPU time of one sample, in ms. */
const spinMs = 4

/** Use `spinMs` of CPU time and return the elapsed time in ms. */
const useCpuTime = (): number => {
  const startedAt = performance.now()
  const { user, system } = process.threadCpuUsage()
  for (;;) {
    const now = process.threadCpuUsage()
    if (now.user + now.system - user - system >= spinMs * 1000) return performance.now() - startedAt
  }
}

/**
 * Measure the time of some work in ms, corrected for other work on the machine.
 * During the work, this process measures how long a process waits for the CPU.
 * The result excludes this share of the time.
 */
export const measureCpuTime = async <T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly ms: number }> => {
  let samples = 1
  let usedMs = useCpuTime()
  const sampling = setInterval(() => {
    samples += 1
    usedMs += useCpuTime()
  }, sampleMs)
  const startedAt = performance.now()
  try {
    const value = await work()
    const slowdown = Math.max(1, usedMs / (samples * spinMs))
    return { value, ms: (performance.now() - startedAt) / slowdown }
  } finally {
    clearInterval(sampling)
  }
}
