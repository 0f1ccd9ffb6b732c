import { z } from 'zod'
import { refuseField, text } from './field.ts'
import { parameters, wholeNumber } from './parameter.ts'

const paging = {
  limit: wholeNumber({ min: 1, max: 100 }).default(30).describe('How many objects to give.'),
  starting_after: text().optional().describe('The last id of the page before: gives the next page.'),
  ending_before: text().optional().describe('The first id of the page after: gives the page before it.'),
}

/**
 * The query of a list: limit, one of two cursors, and the list's own filters.
 * Refuses both cursors at once. Source: docs/rules/identifiers-and-lists.md #lists.
 */
export const listParameters = <Filters extends z.core.$ZodLooseShape>(filters: Filters) =>
  parameters({ ...paging, ...filters }).superRefine((query, context) => {
    const { starting_after, ending_before } = query as { starting_after?: string; ending_before?: string }
    if (starting_after !== undefined && ending_before !== undefined) {
      refuseField(context, 'field_invalid', 'must not stand beside starting_after; give one cursor only', [
        'ending_before',
      ])
    }
  })

/** Where a page begins: after an id (older objects), before one (newer objects), or at the newest object. */
export type PageRequest = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

/** Take the page out of a list's query. */
export const pageRequest = (query: {
  readonly limit: number
  readonly starting_after?: string | undefined
  readonly ending_before?: string | undefined
}): PageRequest => ({
  limit: query.limit,
  startingAfter: query.starting_after ?? null,
  endingBefore: query.ending_before ?? null,
})

/** The shape of a list of objects. */
export const listEnvelope = <Item extends z.ZodType>(item: Item) =>
  z.object({ object: z.literal('list'), url: z.string(), has_more: z.boolean(), data: z.array(item) })

/** Write one page, newest first; `hasMore` tells whether more exist in the direction of paging. */
export const listAnswer = <Item>(
  url: string,
  page: { readonly items: readonly Item[]; readonly hasMore: boolean },
) => ({
  object: 'list' as const,
  url,
  has_more: page.hasMore,
  data: [...page.items],
})
