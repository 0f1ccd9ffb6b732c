import { type Html, html } from '../../ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'

const collections: Readonly<Record<string, string>> = {
  loc_: 'locations',
  dev_: 'devices',
  cus_: 'customers',
  cal_: 'calendars',
  pln_: 'plans',
}

type Named = { readonly reference_id?: string | null; readonly name?: string }

/** Return the own reference or name of an object; its id if it has none. */
export const objectName = async ({ api }: Pick<ConsoleRequest, 'api'>, id: string): Promise<string> => {
  const collection = collections[id.slice(0, 4)]
  if (collection === undefined) return id
  const found = await api<Named>('GET', `/${collection}/${encodeURIComponent(id)}`)
  return found.ok ? (found.value.reference_id ?? found.value.name ?? id) : id
}

/** Return links to the pages of objects, by their own references or names. */
export const objectLinks = async (
  request: Pick<ConsoleRequest, 'api'>,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string | null, Html>> => {
  const known = ids.filter(id => id !== null)
  const links = known.map(async (id): Promise<readonly [string, Html]> => {
    const name = await objectName(request, id)
    return [
      id,
      html`<a href="/console/${collections[id.slice(0, 4)]}/${id}">${name === id ? html`<code>${id}</code>` : name}</a>`,
    ]
  })
  return new Map(await Promise.all(links))
}
