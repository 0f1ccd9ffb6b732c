import { z } from 'zod'
import { refuseField, text } from './field.ts'
import { parameters, wholeNumber } from './parameter.ts'

/** Number of objects in a page without `limit`. */
const defaultLimit = 30

const paging = {
  limit: wholeNumber({ min: 1, max: 100 }).default(defaultLimit).describe('Number of objects in a page.'),
  starting_after: text().optional().describe('Last id of the previous page. Returns the page after that id.'),
  ending_before: text().optional().describe('First id of the following page. Returns the page before that id.'),
}

/**
 * Query of a list: limit, one cursor, and the filters of the list.
 * Refuses two cursors in one request. Source: docs/rules/identifiers-and-lists.md #lists.
 */
export const listParameters = <Filters extends z.core.$ZodLooseShape>(filters: Filters) =>
  parameters({ ...paging, ...filters }).superRefine((query, context) => {
    const { starting_after, ending_before } = query as { starting_after?: string; ending_before?: string }
    if (starting_after !== undefined && ending_before !== undefined) {
      refuseField(context, 'field_invalid', 'must not be combined with starting_after; send one cursor only', [
        'ending_before',
      ])
    }
  })

/** Start of a page: after an id (older objects), before an id (newer objects), or at the newest object. */
export type PageRequest = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

/** Return the page that the query of a list requests. */
export const pageRequest = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
  readonly ending_before?: string | undefined
}): PageRequest => ({
  limit: query.limit ?? defaultLimit,
  startingAfter: query.starting_after ?? null,
  endingBefore: query.ending_before ?? null,
})

/** Shape of a list of objects. */
export const listEnvelope = <Item extends z.ZodType>(item: Item) =>
  z.object({ object: z.literal('list'), url: z.string(), has_more: z.boolean(), data: z.array(item) })

/** Write one page, newest first. `hasMore` is true if more objects exist in the direction of paging. */
export const listAnswer = <Item>(
  url: string,
  page: { readonly items: readonly Item[]; readonly hasMore: boolean },
) => ({
  object: 'list' as const,
  url,
  has_more: page.hasMore,
  data: [...page.items],
})

/** Members of an operation that lists objects. */
export const listing = <Item extends z.ZodType>(name: string, item: Item, url: string, example: unknown) =>
  ({
    access: 'read',
    answer: { name: `${name}List`, shape: listEnvelope(item) },
    status: 200,
    refusals: ['cursor_not_found'],
    examples: { answer: { object: 'list', url, has_more: false, data: [example] } },
  }) as const
