import MiniSearch from 'minisearch'
import type { NextTurn } from '../../contract/operation.ts'

/** Entry of the full-text search. */
export type SearchEntry = {
  readonly address: string
  /** Title of the page. */
  readonly page: string
  /** Heading of the section; the title of the page for its first section. */
  readonly heading: string
  readonly text: string
}

export type SearchIndex = {
  /** Return at most 30 entries that match, the best first. Looks at the first 10 words and 200 characters. */
  readonly find: (query: string) => readonly SearchEntry[]
}

const maxQueryLength = 200
const maxWords = 10
const maxResults = 30

/** Return the words of a query that the search looks at, in lower case. */
export const queryWords = (query: string): readonly string[] =>
  query
    .slice(0, maxQueryLength)
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter(word => word !== '')
    .slice(0, maxWords)

/**
 * Index the entries. Other work can run after each 20 entries.
 * Entries with all words come before entries with some of them. Words match from their start; long words tolerate a typing error.
 */
export const searchIndexOf = async (entries: readonly SearchEntry[], nextTurn: NextTurn): Promise<SearchIndex> => {
  const index = new MiniSearch<SearchEntry & { readonly id: number }>({
    fields: ['page', 'heading', 'text'],
    searchOptions: {
      boost: { heading: 4, page: 2 },
      prefix: term => term.length > 2,
      fuzzy: term => (term.length > 5 ? 0.2 : false),
    },
  })
  for (const [id, entry] of entries.entries()) {
    index.add({ ...entry, id })
    if (id % 20 === 19) await nextTurn()
  }
  return {
    find: query => {
      const words = queryWords(query).join(' ')
      if (words === '') return []
      const all = index.search(words, { combineWith: 'AND' })
      const found = all.length > 0 ? all : index.search(words)
      return found.slice(0, maxResults).flatMap(({ id }) => entries[id] ?? [])
    },
  }
}
