import { refuseFixedChange } from '../../contract/fixed-member.ts'
import {
  customerCreate,
  customerDelete,
  customerList,
  customerPatch,
  customerRetrieve,
  customerToWire,
  customerUpdate,
} from '../../contract/registry/customer.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  createCustomer,
  deleteCustomer,
  listCustomers,
  retrieveCustomer,
  type StoredCustomer,
  updateCustomer,
} from '../../platform/postgres/registry/customers.ts'
import { type Change, change, deletion, omitUndefined } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noCustomer = noObject('customer')

const customerChange = (type: string, customer: StoredCustomer): Change<ReturnType<typeof customerToWire>> => {
  const wireCustomer = customerToWire(customer)
  return { value: wireCustomer, events: [{ type, objectId: customer.id, data: wireCustomer }] }
}

/** Bind the operations on customers. */
export const customerOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(customerCreate, request =>
    change(dependencies, customerCreate, request, async transaction => {
      const { reference_id: referenceId = null, display_name: displayName = null, metadata } = request.body
      const draft = { referenceId, displayName, metadata: metadata ?? {} }
      return accepted(customerChange('customer.create', await createCustomer(transaction, draft, request.at)))
    }),
  ),
  bind(customerList, request =>
    answerList(
      dependencies,
      request,
      '/customers',
      (transaction, page) => listCustomers(transaction, { referenceId: request.query.reference_id ?? null }, page),
      customers => customers.map(customerToWire),
    ),
  ),
  bind(customerRetrieve, request => answerOne(dependencies, request, retrieveCustomer, noCustomer, customerToWire)),
  bind(customerUpdate, request =>
    change(dependencies, customerUpdate, request, async transaction => {
      const { reference_id: referenceId, display_name: displayName, metadata } = request.body
      const before = await retrieveCustomer(transaction, request.id)
      const fixedFieldRefusal =
        before === null ? null : refuseFixedChange(request.body, customerToWire(before), Object.keys(customerPatch))
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const patch = omitUndefined({ referenceId, displayName, metadata: metadata === null ? {} : metadata })
      const customer = await updateCustomer(transaction, request.id, patch)
      return customer.ok ? accepted(customerChange('customer.update', customer.value)) : customer
    }),
  ),
  bind(customerDelete, request =>
    change(dependencies, customerDelete, request, async transaction => {
      const deleted = await deleteCustomer(transaction, request.id, request.at)
      if (!deleted.ok) return deleted
      const { customer, locations } = deleted.value
      const locationEvents = locations.map(location => locationEvent('location.delete', location, request.at))
      return accepted(deletion([...locationEvents, ...customerChange('customer.delete', customer).events]))
    }),
  ),
]
