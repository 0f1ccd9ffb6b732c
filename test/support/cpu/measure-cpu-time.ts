const sampleMs = 100
/** CPU time of one sample, in ms. */
const spinMs = 4

/** Use so much CPU time, and tell how long it took. */
const useCpuTime = (): number => {
  const startedAt = performance.now()
  const { user, system } = process.threadCpuUsage()
  for (;;) {
    const now = process.threadCpuUsage()
    if (now.user + now.system - user - system >= spinMs * 1000) return performance.now() - startedAt
  }
}

/**
 * Time some work, in ms, as if nothing else ran on the machine: the time that passed, less the share for which a process that wants to
 * run has to wait meanwhile. That share is measured beside the work, by this process, so that a busy machine alone is not blamed on it.
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
    const slower = Math.max(1, usedMs / (samples * spinMs))
    return { value, ms: (performance.now() - startedAt) / slower }
  } finally {
    clearInterval(sampling)
  }
}
