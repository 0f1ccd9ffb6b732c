/**
 * Let concurrent writers share commits: one `commit` is under way at a time, and all items that come meanwhile go together
 * with the next one, in order of arrival. `commit` settles each item itself by returning its result or an Error per item;
 * where it throws, all items of that commit fail alike.
 */
export type GroupCommit<Item, Result> = {
  readonly submit: (item: Item) => Promise<Result>
  /** Resolve once nothing is waiting or under way. */
  readonly drained: () => Promise<void>
}

type WaitingItem<Item, Result> = {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Make a group commit over `commit`, which is given at most `maxItems` items at once. */
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
