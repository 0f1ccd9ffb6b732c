import { currentInstant } from '../../../services/platform/clock.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { writeEvents } from '../../../services/platform/postgres/events/events.ts'
import { createTariff } from '../../../services/platform/postgres/pricing/tariffs.ts'
import { createCustomer } from '../../../services/platform/postgres/registry/customers.ts'
import { createDevice } from '../../../services/platform/postgres/registry/devices.ts'
import { createLocation } from '../../../services/platform/postgres/registry/locations.ts'
import { type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../accepted-value.ts'
import { locationDraft, tariffDraft } from './drafts.ts'

/** Create a customer with a home, another location and a device. Both locations have a tariff, each object an event. */
export const createErasureFixture = (database: Database, tenant: Tenant) =>
  withTenant(database, tenant, async transaction => {
    const at = currentInstant()
    const customer = (
      await createCustomer(transaction, { referenceId: 'someone', displayName: null, metadata: {} }, at)
    ).id
    const home = acceptedValue(
      await createLocation(transaction, locationDraft({ customerId: customer, referenceId: 'home' }), at),
    ).id
    const other = acceptedValue(await createLocation(transaction, locationDraft({ referenceId: 'other' }), at)).id
    const device = (
      await createDevice(transaction, { referenceId: 'charger', displayName: null, register: null, metadata: {} }, at)
    ).id
    for (const location of [home, other]) acceptedValue(await createTariff(transaction, tariffDraft(location), at))
    for (const id of [customer, home, other, device])
      await writeEvents(transaction, [{ type: 'x.create', objectId: id, data: { id } }], at)
    return { customer, home, other, device }
  })
