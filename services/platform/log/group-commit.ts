/**
 * Commits that concurrent writers share: one `commit` runs at a time; items that arrive meanwhile go with the next
 * commit, in order of arrival. `commit` returns a result or an Error for each item. If it throws, all items of that
 * commit fail with that error.
 */
export type GroupCommit<Item, Result> = {
  readonly submit: (item: Item) => Promise<Result>
  /** Resolve after all items are committed. */
  readonly drained: () => Promise<void>
}

type WaitingItem<Item, Result> = {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Create a group commit. `commit` receives at most `maxItems` items. */
export const groupCommit = <Item, Result>(
  commit: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  maxItems: number,
): GroupCommit<Item, Result> => {
  let waiting: WaitingItem<Item, Result>[] = []
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const taken = waiting.slice(0, maxItems)
      waiting = waiting.slice(maxItems)
      try {
        const results = await commit(taken.map(entry => entry.item))
        taken.forEach((entry, i) => {
          const result = results[i] as Result | Error
          if (result instanceof Error) entry.reject(result)
          else entry.resolve(result)
        })
      } catch (error) {
        for (const entry of taken) entry.reject(error)
      }
    }
    running = undefined
  }

  return {
    submit: item =>
      new Promise<Result>((resolve, reject) => {
        waiting.push({ item, resolve, reject })
        running ??= run()
      }),
    drained: async () => {
      while (running !== undefined) await running
    },
  }
}
