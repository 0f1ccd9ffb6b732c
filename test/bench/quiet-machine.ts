import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const quietShare = 0.05
const sampleMs = 2_000
const maxWaitMs = 60_000

/** Ticks of all cores since the machine started. */
const ticks = (): { readonly busy: number; readonly all: number } => {
  const times = cpus().map(core => core.times)
  const idle = times.reduce((sum, one) => sum + one.idle, 0)
  const all = times.reduce((sum, { user, nice, sys, idle: rest, irq }) => sum + user + nice + sys + rest + irq, 0)
  return { busy: all - idle, all }
}

/** Resolve with the share of all cores that was busy during the last two seconds, once it is small, or after a minute. */
export const untilQuiet = async (): Promise<number> => {
  for (const end = performance.now() + maxWaitMs; ; ) {
    const before = ticks()
    await sleep(sampleMs)
    const after = ticks()
    const share = (after.busy - before.busy) / Math.max(1, after.all - before.all)
    if (share <= quietShare || performance.now() > end) return share
  }
}

/** Return the middle value; the mean of the two middle ones where their number is even. */
export const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1] ?? 0, sorted[sorted.length >> 1] ?? 0]
  return (low + high) / 2
}

/** Return how far the values lie apart, in percent of their median. */
export const swingOf = (values: readonly number[]): number =>
  ((Math.max(...values) - Math.min(...values)) / medianOf(values)) * 100
