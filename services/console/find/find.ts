import { objectSearch, type SearchHit, type SearchKind } from '../../contract/registry/search.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import type { PageResult } from '../page-frame.ts'
import { errorNotice } from '../page-parts.ts'

type KindView = { readonly title: string; readonly path: (hit: SearchHit) => string }

const atPath =
  (path: string) =>
  (hit: SearchHit): string =>
    `/console/${path}/${hit.id}`

/** Title and pages of each kind of result. */
const kinds: Readonly<Record<SearchKind, KindView>> = {
  location: { title: 'Locations', path: atPath('locations') },
  device: { title: 'Devices', path: atPath('devices') },
  customer: { title: 'Customers', path: atPath('customers') },
  tariff: { title: 'Tariffs', path: atPath('tariffs') },
  plan: { title: 'Plans', path: atPath('plans') },
  session: { title: 'Sessions', path: ({ id }) => `/console/sessions?${new URLSearchParams({ reference: id })}` },
  meter_record: { title: 'Records', path: atPath('records') },
  meter_batch: { title: 'Batches', path: atPath('batches') },
  event: { title: 'Events', path: atPath('events') },
}

const group = (kind: SearchKind, hits: readonly SearchHit[]): Content => {
  const { title, path } = kinds[kind]
  return html`<section aria-labelledby="found-${kind}"><h2 id="found-${kind}">${title}</h2><ul class="found">${hits.map(
    hit =>
      html`<li><a href="${path(hit)}">${hit.name}</a>${hit.name === hit.id ? null : html` <code>${hit.id}</code>`}</li>`,
  )}</ul></section>`
}

const isId = (text: string): boolean => /^[a-z]{3}_[0-9a-f]{24}$/.test(text)

/** Show the objects that match a text. A complete id leads to its page at once. */
const showResults = async ({ call, query }: ConsoleRequest): Promise<PageResult> => {
  const text = query.get('query')?.trim() ?? ''
  if (text === '')
    return { title: 'Find', body: html`<h1>Find</h1><p class="lead">Enter a part of an own reference, or an id.</p>` }
  const found = await call(objectSearch, { query: text })
  if (!found.ok) return { title: 'Find', status: found.status, body: html`<h1>Find</h1>${errorNotice(found.fault)}` }
  const { data } = found.value
  const [first] = data
  if (data.length === 1 && first !== undefined && isId(text)) return { to: kinds[first.kind].path(first) }
  const foundKinds = [...new Set(data.map(({ kind }) => kind))]
  return {
    title: `Find ${text}`,
    body: html`<h1>Results for “${text}”</h1>
${
  foundKinds.length === 0
    ? html`<div class="empty"><p>Nothing found. Try a shorter part of the reference. Records, batches and events need their complete id.</p></div>`
    : foundKinds.map(kind =>
        group(
          kind,
          data.filter(hit => hit.kind === kind),
        ),
      )
}`,
  }
}

export const findRoutes: readonly ConsoleRoute[] = [getRoute('/console/find', showResults)]
