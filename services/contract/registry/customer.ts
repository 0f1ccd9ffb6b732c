import { z } from 'zod'
import type { OwnedObject } from '../../domain/tenant.ts'
import { exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { clearable, displayName, fields, metadata, optional, referenceId, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { cursorReferences, customerOnly } from '../reference.ts'

export const customerShape = objectShape('cus', 'customer', {
  reference_id: orNull(z.string()).describe("The caller's own reference."),
  display_name: orNull(z.string()).describe('Name for people. It identifies nothing.'),
  locations: z.array(idText('loc')).describe('Ids of the locations of this customer.'),
  metadata: z.record(z.string(), z.string()),
})

export type CustomerWire = z.output<typeof customerShape>

/** Stored customer; `createdAt` in ms. */
export type Customer = OwnedObject & {
  readonly referenceId: string | null
  readonly displayName: string | null
  readonly locationIds: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** Write a customer. */
export const customerToWire = (customer: Customer): CustomerWire =>
  objectToWire('customer', customer, {
    reference_id: customer.referenceId,
    display_name: customer.displayName,
    locations: [...customer.locationIds],
    metadata: { ...customer.metadata },
  })

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
  body: fields({
    reference_id: optional(referenceId),
    display_name: optional(displayName),
    metadata: optional(metadata),
  }),
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

/** Members of a customer that a PATCH changes. */
export const customerPatch = {
  reference_id: clearable(referenceId),
  display_name: clearable(displayName),
  metadata: clearable(metadata),
}

export const customerUpdate = defineOperation({
  id: 'customer_update',
  summary: 'Update a customer',
  description: 'Absent members do not change; null clears a member. Other members may be sent back unchanged.',
  tag: 'Customers',
  access: 'all',
  routes: sameRoute('PATCH', '/customers/{id}'),
  references: { id: customerOnly },
  body: fields({ ...fixedMembers(customerShape), ...customerPatch }),
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
