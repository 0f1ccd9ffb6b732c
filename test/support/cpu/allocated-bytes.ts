import { GCProfiler, getHeapStatistics } from 'node:v8'

/**
 * Run work and return the bytes that this thread allocated in its JavaScript heap. Collections of garbage are allowed: the
 * heap grows between them by what is allocated.
 */
export const allocatedBytes = async (work: () => Promise<unknown>): Promise<number> => {
  const profiler = new GCProfiler()
  profiler.start()
  let from = getHeapStatistics().used_heap_size
  await work()
  const end = getHeapStatistics().used_heap_size
  let bytes = 0
  for (const { beforeGC, afterGC } of profiler.stop()?.statistics ?? []) {
    bytes += beforeGC.heapStatistics.usedHeapSize - from
    from = afterGC.heapStatistics.usedHeapSize
  }
  return bytes + end - from
}
