import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'

/** `onProgress` is called for each answer: a read, a block of a long one, an insert that is stored, a command that is done. */
type ClickHouseHooks = {
  readonly onProgress: () => void
  /** Called before each insert; throws if the worker may not store any more. */
  readonly checkStore: () => void
}

/**
 * Watch the calls of a worker to the engine. The worker reads in the service's own turn: a step is for many accounts.
 */
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
