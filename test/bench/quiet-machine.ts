import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const quietShare = 0.05
const sampleMs = 2_000
const maxWaitMs = 60_000

/** Return the busy time and the total time of all cores since the machine started, in ms. */
const ticks = (): { readonly busy: number; readonly all: number } => {
  const times = cpus().map(core => core.times)
  const idle = times.reduce((sum, one) => sum + one.idle, 0)
  const all = times.reduce((sum, { user, nice, sys, idle: rest, irq }) => sum + user + nice + sys + rest + irq, 0)
  return { busy: all - idle, all }
}

/** Wait until the machine is quiet, at most 1 min. Returns the busy share of all cores during the last 2 s. */
export const untilQuiet = async (): Promise<number> => {
  for (const end = performance.now() + maxWaitMs; ; ) {
    const before = ticks()
    await sleep(sampleMs)
    const after = ticks()
    const share = (after.busy - before.busy) / Math.max(1, after.all - before.all)
    if (share <= quietShare || performance.now() > end) return share
  }
}
