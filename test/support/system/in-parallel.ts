/**
 * Run some work for each item, with at most `width` items at a time.
 * Returns the results in the order of the items. Throws the first error, and starts no more work after it.
 */
export const inParallel = async <Item, Result>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = []
  const queue = items[Symbol.iterator]()
  let next = 0
  let hasFailed = false
  const worker = async (): Promise<void> => {
    for (;;) {
      const { done, value } = queue.next()
      if (done || hasFailed) return
      const index = next++
      try {
        results[index] = await work(value, index)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}
