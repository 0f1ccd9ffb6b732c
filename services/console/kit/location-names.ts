import { locationList } from '../../contract/registry/location.ts'
import { anyKindPrefix } from '../../domain/reference.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { field } from '../page-parts.ts'
import type { Column } from './data-table.ts'
import { enteredText } from './object-text.ts'

/** Names and own references of locations by their ids; null for a location without one. `name`: shown to people. */
export type LocationNames = ReadonlyMap<string, { readonly name: string | null; readonly reference: string | null }>

/** Number of locations that suggestions and names know: the largest page of the API. */
const known = 100

/** Read the newest 100 locations. Empty if the API refuses. */
export const newestLocations = async ({ call }: Pick<ConsoleRequest, 'call'>): Promise<LocationNames> => {
  const list = await call(locationList, { limit: known })
  return new Map(
    list.ok
      ? list.value.data.map(({ id, display_name: name, reference_id: reference }) => [
          id,
          { name: name ?? reference, reference },
        ])
      : [],
  )
}

/** Link to a location by its name, or by its id if the name is unknown. */
export const locationLink = (names: LocationNames, id: string): Html => {
  const name = names.get(id)?.name ?? null
  return html`<a href="/console/locations/${id}">${name ?? html`<code>${id}</code>`}</a>`
}

/** Column with the location of each item. */
export const locationColumn = <Item>(names: LocationNames, locationOf: (item: Item) => string): Column<Item> => ({
  key: 'location_id',
  name: 'Location',
  text: locationOf,
  show: item => locationLink(names, locationOf(item)),
})

/** Input of a location with the newest locations as suggestions. A browser also finds them by their names. */
export const locationField = (names: LocationNames, value: string, required = true): Html =>
  html`${field('location_id', 'Location ID or reference', { value, required, list: 'known-locations' })}
<datalist id="known-locations">${[...names].map(
    ([id, { name, reference }]) =>
      html`<option value="${reference === null ? id : enteredText(`${anyKindPrefix}${reference}`)}">${name ?? ''}</option>`,
  )}</datalist>`
