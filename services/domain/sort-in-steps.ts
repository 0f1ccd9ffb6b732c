/** Items that are sorted or merged between two points where the work can be interrupted. */
const itemsAtOnce = 1_024

type Compare<T> = (a: T, b: T) => number

/** Merge two lists that are in order; what is equal stays in the order of the lists. */
function* merge<T>(first: readonly T[], second: readonly T[], compare: Compare<T>): Generator<null, readonly T[]> {
  if (compare(first[first.length - 1] as T, second[0] as T) <= 0) return first.concat(second)
  const merged: T[] = []
  for (let [one, other] = [0, 0]; one < first.length || other < second.length; ) {
    const isSecond = one >= first.length || (other < second.length && compare(first[one] as T, second[other] as T) > 0)
    merged.push((isSecond ? second[other] : first[one]) as T)
    if (isSecond) other += 1
    else one += 1
    if (merged.length % itemsAtOnce === 0) yield null
  }
  return merged
}

/** Sort items as `toSorted` does, in steps; quick where they are in order already. */
export function* sortInSteps<T>(items: readonly T[], compare: Compare<T>): Generator<null, readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let from = 0; from < items.length; from += itemsAtOnce) {
    runs.push(items.slice(from, from + itemsAtOnce).sort(compare))
    yield null
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [first, second] = [runs[at] as readonly T[], runs[at + 1]]
      merged.push(second === undefined ? first : yield* merge(first, second, compare))
      yield null
    }
    runs = merged
  }
  return runs[0] ?? []
}
