const roundMs = 25
const rounds = 3

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** CPU time of one call, in ms: the least of some rounds of so many calls that the clock can tell. */
const costOf = async (work: () => unknown): Promise<number> => {
  let min = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round += 1) {
    const from = cpuMs()
    let calls = 0
    while (calls === 0 || cpuMs() - from < roundMs) {
      await work()
      calls += 1
    }
    min = Math.min(min, (cpuMs() - from) / calls)
  }
  return min
}

/**
 * Tell how many times the CPU time of some work grows from a size to its double: 2 for linear work, 4 for quadratic.
 * Counts the thread that calls, and nothing else. Choose sizes between 0.1 and 50 ms of work.
 */
export const cpuGrowth = async (size: number, work: (size: number) => unknown): Promise<number> => {
  await work(size)
  const one = await costOf(() => work(size))
  return (await costOf(() => work(size * 2))) / one
}
