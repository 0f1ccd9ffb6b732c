/** Values of metrics by name with labels, in the order of the metrics text. */
export type Samples = ReadonlyMap<string, number>

/** Read the metrics of processes. Values of the same name and labels are added up. */
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

/** Return the increase of each metric between two readings. */
export const samplesSince = (before: Samples, after: Samples): Samples =>
  new Map([...after].map(([sample, value]) => [sample, value - (before.get(sample) ?? 0)]))

/** Return the sum of a metric over its labels. */
export const sumOf = (samples: Samples, name: string): number => {
  let sum = 0
  for (const [sample, value] of samples) if (sample === name || sample.startsWith(`${name}{`)) sum += value
  return sum
}

/** Return the quantile of a histogram. The values of a bucket count as evenly spread. */
export const quantileOf = (samples: Samples, name: string, share: number): number => {
  const buckets = [...samples].flatMap(([sample, count]) => {
    const le = new RegExp(`^${name}_bucket\\{le="([^"]+)"\\}$`).exec(sample)?.[1]
    return le === undefined ? [] : [[Number(le), count] as const]
  })
  const targetCount = (buckets.at(-1)?.[1] ?? 0) * share
  let [below, counted] = [0, 0]
  for (const [le, count] of buckets) {
    if (count >= targetCount)
      return Number.isFinite(le)
        ? below + ((le - below) * (targetCount - counted)) / Math.max(1, count - counted)
        : below
    ;[below, counted] = [le, count]
  }
  return below
}
