import { z } from 'zod'
import { count, exampleObject, idText, objectToWire, orNull } from '../answer-field.ts'
import { currencyCode, text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { answerMember, defineObject, fixedAfterCreation, optionalMember, requiredMember } from '../object-member.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'

const optionalText = { body: text(), answer: orNull(z.string()) }

const marketMembers = {
  displayName: requiredMember('display_name', { body: text(), answer: z.string() }),
  currencyCode: fixedAfterCreation(requiredMember('currency_code', { body: currencyCode, answer: z.string() })),
  area: fixedAfterCreation(
    optionalMember('area', null, optionalText, { answer: 'The market area of the prices, such as DE-LU.' }),
  ),
  timezone: optionalMember('timezone', null, optionalText, {
    each: 'Time zone in whose days and weeks the prices repeat. Forecasts follow it. Null: that of the area, else of the first location with the source, else UTC.',
  }),
  resolutionMinutes: answerMember(
    'resolution_minutes',
    orNull(count).describe('Length of the intervals of the market; null if the length varies.'),
  ),
  priceRevision: answerMember('price_revision', count.describe('Increases with every change of the prices.')),
} as const

/** Market source of the API. */
export const marketObject = defineObject('mrs', 'market_source', marketMembers)

const marketShape = marketObject.shape.extend({
  account_id: orNull(idText('acc')).describe('Null for sources that all accounts share.'),
})

export type MarketWire = z.output<typeof marketShape>

const example: MarketWire = objectToWire('market_source', exampleObject('mrs'), {
  display_name: 'Own day-ahead prices',
  currency_code: 'EUR',
  area: null,
  timezone: null,
  resolution_minutes: null,
  price_revision: 3,
})

const tag = 'Markets'
const answer = { name: 'MarketSource', shape: marketShape }

export const marketCreate = defineOperation({
  id: 'market_create',
  summary: 'Create a market source',
  description:
    'Creates your own price series. Store prices with PUT /markets/{id}/prices, and set the id as a market source of your locations.',
  tag,
  access: 'all',
  operator: true,
  routes: sameRoute('POST', '/markets'),
  body: marketObject.creation,
  answer,
  status: 201,
  idempotent: true,
  examples: {
    body: { display_name: 'Own day-ahead prices', currency_code: 'EUR' },
    answer: { ...example, price_revision: 0 },
  },
})

export const marketList = defineOperation({
  id: 'market_list',
  summary: 'List market sources',
  description: 'Your own sources and the sources that all accounts share, newest first.',
  tag,
  ...listing('MarketSource', marketShape, '/markets', example),
  operator: true,
  routes: sameRoute('GET', '/markets'),
  query: listParameters({ area: text().optional().describe('Only sources of this market area, such as DE-LU.') }),
})

export const marketRetrieve = defineOperation({
  id: 'market_retrieve',
  summary: 'Retrieve a market source',
  description: 'Returns the source. Read its prices at /markets/{id}/prices.',
  tag,
  ...retrieval(answer, example),
  operator: true,
  routes: sameRoute('GET', '/markets/{id}'),
})

export const marketUpdate = defineOperation({
  id: 'market_update',
  summary: 'Update a market source',
  description:
    'Changes the name and the time zone of one of your own sources. Other members may be sent back unchanged. After a change of the time zone the forecasts are calculated again within seconds, and stored costs with forecast prices follow. Published prices and their costs stay as they are.',
  tag,
  access: 'all',
  operator: true,
  routes: sameRoute('PATCH', '/markets/{id}'),
  body: marketObject.patch,
  answer,
  status: 200,
  refusals: ['field_immutable'],
  examples: { body: { timezone: 'Europe/Berlin' }, answer: { ...example, timezone: 'Europe/Berlin' } },
})

export const marketDelete = defineOperation({
  id: 'market_delete',
  summary: 'Delete a market source',
  description:
    'Deletes one of your own sources that no location uses. Costs that were calculated from its prices stay.',
  tag,
  ...deletion,
  operator: true,
  routes: sameRoute('DELETE', '/markets/{id}'),
  refusals: ['market_in_use'],
})
