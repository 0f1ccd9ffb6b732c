import { z } from 'zod'
import { exampleObject, idText, objectToWire } from '../answer-field.ts'
import { text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { answerMember, defineObject } from '../object-member.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { cursorReferences, customerOnly } from '../reference.ts'
import { displayNameMember, metadataMember, referenceMember } from './own-members.ts'

const customerMembers = {
  referenceId: referenceMember({ answer: "The caller's own reference." }),
  displayName: displayNameMember(),
  locationIds: answerMember(
    'locations',
    z.array(idText('loc')).describe('Ids of the locations of this customer.'),
    (ids: readonly string[]) => [...ids],
  ),
  metadata: metadataMember(),
} as const

/** Customer of the API. */
export const customerObject = defineObject('cus', 'customer', customerMembers)

export const customerShape = customerObject.shape

export type CustomerWire = z.output<typeof customerShape>

const example: CustomerWire = objectToWire('customer', exampleObject('cus'), {
  reference_id: 'household-17',
  display_name: 'Meyer family',
  locations: ['loc_0198c0ffee00112233445566'],
  metadata: {},
})

const answer = { name: 'Customer', shape: customerShape }

export const customerCreate = defineOperation({
  id: 'customer_create',
  summary: 'Create a customer',
  description: 'A customer groups locations. The reference_id is unique in the account and mode.',
  tag: 'Customers',
  access: 'all',
  routes: sameRoute('POST', '/customers'),
  body: customerObject.creation,
  answer,
  status: 201,
  idempotent: true,
  refusals: ['reference_id_taken'],
  examples: { body: { reference_id: 'household-17', display_name: 'Meyer family' }, answer: example },
})

export const customerList = defineOperation({
  id: 'customer_list',
  summary: 'List customers',
  description: 'Newest first.',
  tag: 'Customers',
  ...listing('Customer', customerShape, '/customers', example),
  routes: sameRoute('GET', '/customers'),
  references: { query: cursorReferences(customerOnly) },
  query: listParameters({ reference_id: text().optional().describe('Only the customer with this reference.') }),
})

export const customerRetrieve = defineOperation({
  id: 'customer_retrieve',
  summary: 'Retrieve a customer',
  description: 'Returns the customer with the ids of its locations.',
  tag: 'Customers',
  ...retrieval(answer, example),
  routes: sameRoute('GET', '/customers/{id}'),
  references: { id: customerOnly },
})

export const customerUpdate = defineOperation({
  id: 'customer_update',
  summary: 'Update a customer',
  description: 'Absent members do not change; null clears a member. Other members may be sent back unchanged.',
  tag: 'Customers',
  access: 'all',
  routes: sameRoute('PATCH', '/customers/{id}'),
  references: { id: customerOnly },
  body: customerObject.patch,
  answer,
  status: 202,
  refusals: ['reference_id_taken', 'field_immutable'],
  examples: { body: { reference_id: 'household-18' }, answer: { ...example, reference_id: 'household-18' } },
})

export const customerDelete = defineOperation({
  id: 'customer_delete',
  summary: 'Delete a customer',
  description: 'Deletes the customer and its locations. Metering records stay for the costs of the account.',
  tag: 'Customers',
  ...deletion,
  routes: sameRoute('DELETE', '/customers/{id}'),
  references: { id: customerOnly },
})
