import { z } from 'zod'
import { idText, orNull } from '../answer-field.ts'
import { text } from '../field.ts'
import { currentRoute, defineOperation, retrieval } from '../operation.ts'
import { parameters } from '../parameter.ts'

/** Kinds of objects that a search finds, in the order of the answer. */
export const searchKinds = [
  'location',
  'device',
  'customer',
  'tariff',
  'plan',
  'session',
  'meter_record',
  'meter_batch',
  'event',
] as const

export type SearchKind = (typeof searchKinds)[number]

/** Bounds of a search. Partial words are searched in the newest `scanned` objects of each kind. */
export const searchLimits = { textLength: 64, hitsPerKind: 10, scanned: 50_000 } as const

const hitShape = z
  .object({
    kind: z.enum(searchKinds),
    id: z.string().describe('Id of the object; for a session its reference.'),
    name: z.string().describe('Name, own reference or id.'),
    location_id: orNull(idText('loc')),
  })
  .meta({ component: 'SearchHit' })

export type SearchHit = z.output<typeof hitShape>

const searchShape = z.object({
  object: z.literal('search'),
  query: z.string(),
  data: z.array(hitShape).describe(`At most ${searchLimits.hitsPerKind} objects of each kind.`),
})

export type SearchWire = z.output<typeof searchShape>

const example: SearchWire = {
  object: 'search',
  query: 'depot',
  data: [
    {
      kind: 'location',
      id: 'loc_0198c0ffee00112233445566',
      name: 'depot-7',
      location_id: 'loc_0198c0ffee00112233445566',
    },
  ],
}

export const objectSearch = defineOperation({
  id: 'object_search',
  summary: 'Search for objects',
  description: `Finds objects of the account by a part of an own reference or name, or by the start of an id. Upper and lower case are equal. Partial words are searched in the newest ${searchLimits.scanned.toLocaleString('en')} objects of each kind. Records, batches and events are found by their complete id, and records also by their complete reference.`,
  tag: 'Account',
  ...retrieval({ name: 'Search', shape: searchShape }, example),
  routes: currentRoute('GET', '/search'),
  query: parameters({
    query: text({ max: searchLimits.textLength }).meta({
      type: 'string',
      maxLength: searchLimits.textLength,
      examples: ['depot'],
    }),
  }),
})
