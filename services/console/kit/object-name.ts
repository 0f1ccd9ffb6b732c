import { calendarRetrieve } from '../../contract/calendars/calendar.ts'
import type { OperationOf } from '../../contract/call.ts'
import { planRetrieve } from '../../contract/plans/plan.ts'
import { customerRetrieve } from '../../contract/registry/customer.ts'
import { deviceRetrieve } from '../../contract/registry/device.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'

/** Names of an object, as far as its kind has them. */
type Named = {
  readonly display_name?: string | null
  readonly reference_id?: string | null
  readonly name?: string
}

/** Reads of the objects with a name, by the prefix of their ids. */
const retrievals: Readonly<Record<string, OperationOf<Named, '/{id}'>>> = {
  loc_: locationRetrieve,
  dev_: deviceRetrieve,
  cus_: customerRetrieve,
  cal_: calendarRetrieve,
  pln_: planRetrieve,
}

/** Pages of objects by the prefix of their ids. */
const pages: Readonly<Record<string, string>> = {
  loc_: 'locations',
  dev_: 'devices',
  cus_: 'customers',
  cal_: 'calendars',
  pln_: 'plans',
  trf_: 'tariffs',
  chg_: 'charges',
  mre_: 'records',
  bat_: 'batches',
  stm_: 'statements',
  evt_: 'events',
  whe_: 'webhooks',
}

/** Show an id, with a link if its object has a page. */
export const idLink = (id: string): Html => {
  const page = /^[a-z]{3}_[0-9a-f]{24}$/.test(id) ? pages[id.slice(0, 4)] : undefined
  return page === undefined ? html`<code>${id}</code>` : html`<a href="/console/${page}/${id}"><code>${id}</code></a>`
}

/** Return the name or own reference of an object; its id if it has none. */
export const objectName = async ({ call }: Pick<ConsoleRequest, 'call'>, id: string): Promise<string> => {
  const retrieve = retrievals[id.slice(0, 4)]
  if (retrieve === undefined) return id
  const found = await call(retrieve, { id })
  return found.ok ? (found.value.display_name ?? found.value.reference_id ?? found.value.name ?? id) : id
}

/** Return links to the pages of objects, by their own references or names. */
export const objectLinks = async (
  request: Pick<ConsoleRequest, 'call'>,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string | null, Html>> => {
  const known = ids.filter(id => id !== null)
  const links = known.map(async (id): Promise<readonly [string, Html]> => {
    const name = await objectName(request, id)
    return [
      id,
      html`<a href="/console/${pages[id.slice(0, 4)]}/${id}">${name === id ? html`<code>${id}</code>` : name}</a>`,
    ]
  })
  return new Map(await Promise.all(links))
}
