import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'

/** `onProgress` is called after each read, each block of a long read, each stored insert and each command. */
type ClickHouseHooks = {
  readonly onProgress: () => void
  /** Called before each insert. Throws if the worker must not store rows. */
  readonly checkStore: () => void
}

/** Report the progress of a worker's calls to ClickHouse. Reads have no account: a step is for many accounts. */
export const watchedClickHouse = (clickHouse: ClickHouse, { onProgress, checkStore }: ClickHouseHooks): ClickHouse => {
  const reportWhenDone = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer
    onProgress()
    return value
  }
  return {
    ...clickHouse,
    command: sql => reportWhenDone(clickHouse.command(sql)),
    insert: async rows => {
      checkStore()
      await reportWhenDone(clickHouse.insert(rows))
    },
    rows: sql => reportWhenDone(clickHouse.rows(sql)),
    lines: sql => reportWhenDone(clickHouse.lines(sql)),
    stream: async function* (sql) {
      for await (const block of clickHouse.stream(sql)) {
        onProgress()
        yield block
      }
      onProgress()
    },
  }
}
