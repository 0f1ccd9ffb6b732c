const shiftClock = new URL('shift-clock.mjs', import.meta.url).href

/** Amounts by which the clock of a machine is wrong, in ms. */
export const clockShiftsMs: readonly number[] = [3_600_000, -3_600_000, 10_000, -10_000]

/** Return the variables of a process whose clock is wrong by an amount in ms. */
export const shiftedClock = (shiftMs: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${shiftClock}`,
  CLOCK_SHIFT_MS: String(shiftMs),
})

/** Create a function that returns the variables of the next process. The clock of each process is wrong in another way. */
export const rotatingClocks = (): (() => Readonly<Record<string, string>>) => {
  let started = 0
  return () => shiftedClock(clockShiftsMs[started++ % clockShiftsMs.length] ?? 0)
}
