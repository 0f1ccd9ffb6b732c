import {
  type CustomerWire,
  customerCreate,
  customerDelete,
  customerList,
  customerObject,
  customerRetrieve,
  customerUpdate,
} from '../../contract/registry/customer.ts'
import {
  type DeviceWire,
  deviceCreate,
  deviceDelete,
  deviceList,
  deviceObject,
  deviceRetrieve,
  deviceUpdate,
} from '../../contract/registry/device.ts'
import {
  type LocationWire,
  locationCreate,
  locationDelete,
  locationList,
  locationMembers,
  locationRetrieve,
  locationUpdate,
} from '../../contract/registry/location.ts'
import { tariffList } from '../../contract/tariffs/tariff.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { counted } from '../kit/amount.ts'
import type { Column } from '../kit/data-table.ts'
import { instant } from '../page-parts.ts'
import { finalStatementsPath } from '../statements/final-statements.ts'
import { locationSections } from './location-sections.ts'
import { membersOf } from './object-form.ts'
import type { Deletion, ObjectKind } from './object-kind.ts'

type Stored = { readonly id: string; readonly time_created: string }

/** Column with the name of an object, which links to its page. */
export const nameColumn = <Wire extends Stored>(
  path: string,
  name: string,
  nameOf: (object: Wire) => string,
): Column<Wire> => ({
  key: 'name',
  name,
  text: nameOf,
  show: object => html`<a href="/console${path}/${object.id}">${nameOf(object)}</a>`,
})

export const idColumn: Column<Stored> = {
  key: 'id',
  name: 'ID',
  text: ({ id }) => id,
  show: ({ id }) => html`<code>${id}</code>`,
}

export const createdColumn: Column<Stored> = {
  key: 'time_created',
  name: 'Created',
  isNamed: true,
  text: one => one.time_created,
  show: one => instant(one.time_created, 'UTC', 'minute'),
}

const createdFact = ({ time_created }: Stored): readonly [string, Content] => ['Created', instant(time_created)]

const metadataFact = (metadata: Readonly<Record<string, string>>): readonly (readonly [string, Content])[] =>
  Object.entries(metadata).map(([name, value]) => [name, value])

/** Deletion with effects that do not depend on the object. */
export const deletionOf = <Wire>(effects: string): Deletion<Wire> => ({
  name: 'delete',
  label: 'Delete',
  effects: async () => html`<p>${effects}</p>`,
})

/** Return the name of an object, else its own reference, else its id. */
const nameOf = ({ display_name, reference_id, id }: LocationWire | DeviceWire | CustomerWire): string =>
  display_name ?? reference_id ?? id

const addressFact = ({ postal_address: address }: LocationWire): Content =>
  address === null ? '–' : `${address.city}, ${address.country_code}`

export const locationKind: ObjectKind<LocationWire> = {
  path: '/locations',
  operations: {
    list: locationList,
    retrieve: locationRetrieve,
    create: locationCreate,
    update: locationUpdate,
    delete: locationDelete,
  },
  name: 'location',
  title: 'Locations',
  lead: 'Sites with one grid connection, with their prices and energy costs.',
  columns: [
    nameColumn('/locations', 'Location', nameOf),
    {
      key: 'tariff',
      name: 'Tariff',
      text: one => one.tariff_status.commodity_import.toLowerCase().replaceAll('_', ' '),
      show: one =>
        one.tariff_status.commodity_import === 'CONNECTED'
          ? html`<span class="tag good">connected</span>`
          : html`<span class="tag warn">${one.tariff_status.commodity_import.toLowerCase().replaceAll('_', ' ')}</span>`,
    },
    { key: 'currency_code', name: 'Currency', text: one => one.currency_code },
    { key: 'timezone', name: 'Time zone', text: one => one.timezone },
    createdColumn,
  ],
  filters: [
    ['reference_id', 'Reference'],
    ['customer_id', 'Customer ID or reference'],
  ],
  nameOf,
  linkedIds: one => [one.customer_id, one.calendar_id],
  factsOf: (one, links) => [
    ['Reference', one.reference_id ?? '–'],
    ['Customer', links.get(one.customer_id) ?? '–'],
    ['Address', addressFact(one)],
    ['Time zone', one.timezone],
    ['Currency', one.currency_code],
    ['Calendar', links.get(one.calendar_id) ?? '–'],
    createdFact(one),
    ...metadataFact(one.metadata),
  ],
  sections: locationSections,
  linksOf: ({ id }) => [
    ['View costs', `/console/costs?object=${id}`],
    ['View records', `/console/records?location_id=${id}`],
    ['View corrections', `/console/corrections?location_id=${id}`],
    ['View statement', `/console/statements?location_id=${id}`],
    ['Final statements', finalStatementsPath(id)],
    ['View prices', `/console/prices?location_id=${id}`],
    ['Compare plans', `/console/simulations?object=${id}`],
  ],
  formsOf: ({ id }) => [['Add tariff', `/console/tariffs/new?location_id=${id}`]],
  example: { reference_id: 'home-17', timezone: 'Europe/Berlin', currency_code: 'EUR' },
  ...membersOf(locationMembers),
  deletions: [
    {
      name: 'delete',
      label: 'Delete',
      effects: async (request, { id }) =>
        html`<p>${await endingTariffs(request, id)} Its records stay for the costs of the account. New records are refused within 60 s.</p>`,
    },
  ],
}

const listedTariffs = 100

/** Say how many tariffs of a location end with it. */
const endingTariffs = async ({ call, at }: ConsoleRequest, id: string): Promise<string> => {
  const list = await call(tariffList, { location_id: id, limit: listedTariffs })
  if (!list.ok || list.value.has_more) return 'The tariffs of the location end now.'
  const open = list.value.data.filter(({ contract_end_date: end }) => end === null || Date.parse(end) > at)
  return open.length === 0
    ? 'The location has no tariffs that end.'
    : `${counted(String(open.length), 'tariff')} of the location ${open.length === 1 ? 'ends' : 'end'} now.`
}

export const deviceKind: ObjectKind<DeviceWire> = {
  path: '/devices',
  operations: {
    list: deviceList,
    retrieve: deviceRetrieve,
    create: deviceCreate,
    update: deviceUpdate,
    delete: deviceDelete,
  },
  name: 'device',
  title: 'Devices',
  lead: 'Chargers, batteries and meters. Each record of a device names its location.',
  columns: [
    nameColumn('/devices', 'Device', nameOf),
    {
      key: 'last_seen',
      name: 'Last record received',
      isNamed: true,
      text: one => one.last_seen ?? '',
      show: one =>
        one.last_seen === null ? html`<span class="none">no records</span>` : instant(one.last_seen, 'UTC', 'minute'),
    },
    idColumn,
    createdColumn,
  ],
  filters: [
    ['reference_id', 'Reference'],
    ['location_id', 'Location ID or reference'],
  ],
  nameOf,
  factsOf: one => [
    ['Reference', one.reference_id],
    ['Last record received', one.last_seen === null ? '–' : instant(one.last_seen)],
    createdFact(one),
    ...metadataFact(one.metadata),
  ],
  linksOf: ({ id }) => [
    ['View costs', `/console/costs?object=${id}`],
    ['View records', `/console/records?device_id=${id}`],
    ['View corrections', `/console/corrections?device_id=${id}`],
  ],
  example: { reference_id: 'charger-4711' },
  ...membersOf(deviceObject.members),
  deletions: [
    {
      name: 'delete',
      label: 'Delete',
      effects: async (_, { id, last_seen: seen }) =>
        html`<p>${
          seen === null
            ? 'The device has no records.'
            : html`The newest record of the device was received on ${instant(seen, 'UTC', 'minute')}. Its <a href="/console/records?device_id=${id}">records</a> stay for the costs of the account.`
        } New records are refused within 60 s.</p>`,
    },
  ],
}

export const customerKind: ObjectKind<CustomerWire> = {
  path: '/customers',
  operations: {
    list: customerList,
    retrieve: customerRetrieve,
    create: customerCreate,
    update: customerUpdate,
    delete: customerDelete,
  },
  name: 'customer',
  title: 'Customers',
  lead: 'Owners of locations. Costs of a customer are those of all its locations.',
  columns: [
    nameColumn('/customers', 'Customer', nameOf),
    { key: 'locations', name: 'Locations', isNumber: true, text: one => String(one.locations.length) },
    idColumn,
    createdColumn,
  ],
  filters: [['reference_id', 'Reference']],
  nameOf,
  factsOf: one => [
    ['Reference', one.reference_id ?? '–'],
    ['Locations', html`<a href="/console/locations?customer_id=${one.id}">${one.locations.length}</a>`],
    createdFact(one),
    ...metadataFact(one.metadata),
  ],
  linksOf: ({ id }) => [['View costs', `/console/costs?object=${id}`]],
  example: { reference_id: 'tenant-12' },
  ...membersOf(customerObject.members),
  deletions: [
    {
      name: 'delete',
      label: 'Delete',
      effects: async (_, { locations }) =>
        html`<p>${
          locations.length === 0
            ? 'The customer has no locations.'
            : `Deleted too: ${counted(String(locations.length), 'location')} of the customer. Their tariffs end now.`
        } Records stay for the costs of the account.</p>`,
    },
  ],
}
