import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'

/** `onProgress` is called for each answer: a read, a block of a long one, an insert that is stored, a command that is done. */
type Watch = {
  readonly onProgress: () => void
  /** Called before each insert; throws if the worker may not store any more. */
  readonly checkStore: () => void
}

/**
 * Watch the calls of a worker to the engine. The worker reads in the service's own turn: a step is for many accounts.
 */
export const watchedClickHouse = (clickHouse: ClickHouse, { onProgress, checkStore }: Watch): ClickHouse => {
  const told = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer
    onProgress()
    return value
  }
  return {
    ...clickHouse,
    command: sql => told(clickHouse.command(sql)),
    insert: async rows => {
      checkStore()
      await told(clickHouse.insert(rows))
    },
    rows: sql => told(clickHouse.rows(sql)),
    lines: sql => told(clickHouse.lines(sql)),
    stream: async function* (sql) {
      for await (const block of clickHouse.stream(sql)) {
        onProgress()
        yield block
      }
      onProgress()
    },
  }
}
