import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'

/**
 * The engine with `onProgress` called for each answer: a read, a block of a long one, an insert that is stored, a command that is done. The worker
 * reads in the service's own turn: a step is for many accounts.
 */
export const watchedClickHouse = (clickHouse: ClickHouse, onProgress: () => void): ClickHouse => {
  const told = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer
    onProgress()
    return value
  }
  return {
    ...clickHouse,
    command: sql => told(clickHouse.command(sql)),
    insert: rows => told(clickHouse.insert(rows)),
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
