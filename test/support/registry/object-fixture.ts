import type { Client } from '../system/client.ts'
import { allHours } from '../tariffs/all-hours.ts'

/** Ids of one object of each kind, including a stored record. */
export type ObjectFixture = {
  readonly customer: string
  readonly location: string
  readonly device: string
  readonly tariff: string
  readonly charge: string
  readonly plan: string
  readonly assignment: string
  readonly calendar: string
  readonly market: string
  readonly batch: string
  readonly record: string
  readonly session: string
  readonly event: string
}

type WithId = { readonly id: string }
type ListOfIds = { readonly data: readonly WithId[] }

/** Schedule with one price at all hours. */
export const flatSchedule = allHours([{ fixed: 0.3 }])

const create = async (client: Client, path: string, body: object): Promise<string> =>
  ((await client.ask('POST', path, body)) as WithId).id

/** Create a location in the time zone of Berlin with the currency EUR. */
export const createLocation = (client: Client, more: object = {}): Promise<string> =>
  create(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR', ...more })

/** Create a standing charge of a location. */
export const createCharge = (client: Client, location: string): Promise<string> =>
  create(client, '/charges', { location_id: location, kind: 'FIXED', name: 'Standing charge', price: 0.4785 })

/** Create a plan with one charge, and a second version. */
export const createPlan = async (client: Client): Promise<string> => {
  const charges = [{ kind: 'FIXED', name: 'Service', price: 0.1 }]
  const plan = await create(client, '/plans', { name: 'Home', currency_code: 'EUR', charges })
  await client.ask('POST', `/plans/${plan}/versions`, { from: '2030-01-01', charges })
  return plan
}

/** Assign a plan to a location. Return the id of the assignment. */
export const assignPlan = async (client: Client, plan: string, location: string): Promise<string> => {
  const body = [{ location_id: location, start_date: '2025-01-01', end_date: '2025-02-01' }]
  const { data } = (await client.ask('POST', `/plans/${plan}/assignments`, body)) as ListOfIds
  const [{ id } = { id: '' }] = data
  return id
}

/** Create the objects. The client uses the current API version. */
export const createObjectFixture = async (client: Client, session: string): Promise<ObjectFixture> => {
  const [customer, device, market] = await Promise.all([
    create(client, '/customers', { reference_id: `household of ${session}` }),
    create(client, '/devices', { reference_id: `charger of ${session}` }),
    create(client, '/markets', { display_name: 'Own prices', currency_code: 'EUR' }),
  ])
  const location = await createLocation(client, { customer_id: customer, reference_id: `home of ${session}` })
  const tariff = await create(client, '/tariffs', {
    location_id: location,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: flatSchedule,
  })
  const charge = await createCharge(client, location)
  const plan = await createPlan(client)
  const assignment = await assignPlan(client, plan, await createLocation(client))
  await assignPlan(client, plan, location)
  const calendar = await create(client, '/calendars', { name: `Days of ${session}` })
  const record = { location_id: location, device_id: device, session_reference_id: session, units: 'KWH', value: 1.25 }
  const times = { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T10:15:00Z' }
  await client.submit([{ ...record, ...times, value: 1 }])
  const { id: batch } = (await client.submit([{ ...record, ...times }])) as WithId
  await client.ask('PUT', `/markets/${market}/prices`, [{ ...times, value: 0.08 }])
  const { data: records } = (await client.ask('GET', `/meters/records?location_id=${location}`)) as ListOfIds
  const { data: events } = (await client.ask('GET', `/events?object_id=${device}`)) as ListOfIds
  const [{ id: recordId } = { id: '' }, { id: event } = { id: '' }] = [records[0], events[0]]
  return {
    customer,
    location,
    device,
    tariff,
    charge,
    plan,
    assignment,
    calendar,
    market,
    batch,
    record: recordId,
    session,
    event,
  }
}
