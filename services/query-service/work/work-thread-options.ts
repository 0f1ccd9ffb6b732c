import type { WorkThreadOptions } from '../../platform/work-thread/work-thread.ts'

/**
 * Options of the work thread of the query service. An account can run 2 works at a time, and 62 can wait, so that one account
 * cannot fill the thread or the memory. Source: docs/promises.md #s6.
 */
export const workThreadOptions: WorkThreadOptions = {
  script: new URL('./work-process.ts', import.meta.url),
  limits: { maxConcurrent: 6, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 62 },
  maxWaitingBytes: 128 * 2 ** 20,
  memoryMiB: 1_024,
}
