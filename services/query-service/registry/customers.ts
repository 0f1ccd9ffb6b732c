import { refuseFixedChange } from '../../contract/fixed-member.ts'
import {
  type CustomerWire,
  customerCreate,
  customerDelete,
  customerList,
  customerObject,
  customerRetrieve,
  customerUpdate,
} from '../../contract/registry/customer.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted } from '../../domain/refusal.ts'
import type { Customer } from '../../domain/registry/customer.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  createCustomer,
  deleteCustomer,
  listCustomers,
  retrieveCustomer,
  updateCustomer,
} from '../../platform/postgres/registry/customers.ts'
import { type Change, change, deletion } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noCustomer = noObject('customer')

const customerChange = (type: string, customer: Customer): Change<CustomerWire> => {
  const wireCustomer = customerObject.toWire(customer)
  return { value: wireCustomer, events: [{ type, objectId: customer.id, data: wireCustomer }] }
}

/** Bind the operations on customers. */
export const customerOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(customerCreate, request =>
    change(dependencies, customerCreate, request, async transaction => {
      return accepted(customerChange('customer.create', await createCustomer(transaction, request.body, request.at)))
    }),
  ),
  bind(customerList, request =>
    answerList(
      dependencies,
      request,
      '/customers',
      (transaction, page) => listCustomers(transaction, { referenceId: request.query.reference_id ?? null }, page),
      customers => customers.map(customerObject.toWire),
    ),
  ),
  bind(customerRetrieve, request =>
    answerOne(dependencies, request, retrieveCustomer, noCustomer, customerObject.toWire),
  ),
  bind(customerUpdate, request =>
    change(dependencies, customerUpdate, request, async transaction => {
      const { sent, change: customerChanges } = request.body
      const before = await retrieveCustomer(transaction, request.id)
      const fixedFieldRefusal =
        before === null ? null : refuseFixedChange(sent, customerObject.toWire(before), customerObject.changeable)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const customer = await updateCustomer(transaction, request.id, customerChanges)
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
