/** What processes count, each sample under its name with its labels, in the order in which they tell it. */
export type Samples = ReadonlyMap<string, number>

/** Read the metrics of processes and add up what they have in common. */
export const readSamples = async (urls: readonly string[]): Promise<Samples> => {
  const sums = new Map<string, number>()
  for (const text of await Promise.all(urls.map(async url => (await fetch(url)).text()))) {
    for (const line of text.split('\n').filter(one => one !== '' && !one.startsWith('#'))) {
      const at = line.lastIndexOf(' ')
      sums.set(line.slice(0, at), (sums.get(line.slice(0, at)) ?? 0) + Number(line.slice(at + 1)))
    }
  }
  return sums
}

/** What was counted between two looks. */
export const samplesSince = (before: Samples, after: Samples): Samples =>
  new Map([...after].map(([sample, value]) => [sample, value - (before.get(sample) ?? 0)]))

/** The sum of a metric over its labels. */
export const sumOf = (samples: Samples, name: string): number => {
  let sum = 0
  for (const [sample, value] of samples) if (sample === name || sample.startsWith(`${name}{`)) sum += value
  return sum
}

/** A share of a histogram's values lies below this; within a bucket they count as spread evenly. */
export const quantileOf = (samples: Samples, name: string, share: number): number => {
  const buckets = [...samples].flatMap(([sample, count]) => {
    const le = new RegExp(`^${name}_bucket\\{le="([^"]+)"\\}$`).exec(sample)?.[1]
    return le === undefined ? [] : [[Number(le), count] as const]
  })
  const wanted = (buckets.at(-1)?.[1] ?? 0) * share
  let [below, counted] = [0, 0]
  for (const [le, count] of buckets) {
    if (count >= wanted)
      return Number.isFinite(le) ? below + ((le - below) * (wanted - counted)) / Math.max(1, count - counted) : below
    ;[below, counted] = [le, count]
  }
  return below
}
