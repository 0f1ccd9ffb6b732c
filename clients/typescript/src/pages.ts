import { WattledgerError } from './errors.js'

/** One page of a list. */
export type Page<Item> = { readonly has_more: boolean; readonly data: readonly Item[] }

/** List of the service. `for await` reads all objects, page by page. */
export type Pages<Item> = AsyncIterable<Item> & {
  /** Read the first page alone. */
  readonly page: () => Promise<Page<Item>>
}

type Query = Readonly<Record<string, unknown>>

/**
 * Create the list of a query. The iterator keeps one page in memory and reads the next page on demand.
 * With `ending_before` the order is from oldest to newest.
 */
export const createPages = <Item>(query: Query, read: (query: Query) => Promise<Page<Item>>): Pages<Item> => ({
  page: () => read(query),
  [Symbol.asyncIterator]: async function* () {
    const isBackwards = query['ending_before'] !== undefined
    for (let cursor = {}; ; ) {
      const { data, has_more: hasMore } = await read({ ...query, ...cursor })
      const items = isBackwards ? data.toReversed() : data
      yield* items
      if (!hasMore) return
      const { id } = (items.at(-1) ?? {}) as { readonly id?: string }
      if (id === undefined) throw new WattledgerError('The service sent an empty page of a list with more objects.')
      cursor = isBackwards ? { ending_before: id } : { starting_after: id }
    }
  },
})
