const roundMs = 25
const minRounds = 3
/** Other work on the machine disturbs single rounds. If work grows too fast, all rounds show it. */
const maxRounds = 15
/** If the growth is at most this factor, no more rounds are needed. */
const linearGrowth = 2.3

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Return the CPU time of one call, in ms. Short calls are repeated until the clock is precise. */
const timeOf = async (work: () => unknown): Promise<number> => {
  const from = cpuMs()
  let calls = 0
  while (calls === 0 || cpuMs() - from < roundMs) {
    await work()
    calls += 1
  }
  return (cpuMs() - from) / calls
}

/**
 * Return the factor by which the CPU time of some work grows from a size to its double:
 * 2 for linear work, 4 for quadratic work.
 * Both sizes are measured alternately, and the shortest time of each counts. Only the calling thread is measured.
 * Choose sizes between 0.1 and 200 ms of work.
 */
export const cpuGrowth = async (size: number, work: (size: number) => unknown): Promise<number> => {
  await work(size)
  let [single, double] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < maxRounds; round += 1) {
    single = Math.min(single, await timeOf(() => work(size)))
    double = Math.min(double, await timeOf(() => work(size * 2)))
    if (round + 1 >= minRounds && double / single <= linearGrowth) break
  }
  return double / single
}
