import type { WorkThreadOptions } from '../../platform/work-thread/work-thread.ts'

/**
 * The thread of the query service. An account has two works under way at the most, and as many as reads that it may ask for at once wait: it can fill neither
 * the thread nor the memory. Source: docs/promises.md #s6.
 */
export const workThreadOptions: WorkThreadOptions = {
  script: new URL('./work-process.ts', import.meta.url),
  limits: { maxConcurrent: 6, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 62 },
  maxWaitingBytes: 128 * 2 ** 20,
  memoryMiB: 1_024,
}
