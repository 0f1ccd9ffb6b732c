import { auditEntryFor, auditEntryList } from '../../contract/registry/audit-entry.ts'
import { parseInstant, writeInstant } from '../../domain/instant.ts'
import { referenceKinds } from '../../domain/reference.ts'
import type { ListedAuditEntry } from '../../domain/registry/audit-entry.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { type AuditFilter, listAudit } from '../../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo } from '../console-request.ts'
import { dataTable, withParameters } from '../kit/data-table.ts'
import { idLink } from '../kit/object-name.ts'
import { enteredText, findObject } from '../kit/object-text.ts'
import type { PageView } from '../page-frame.ts'
import { field, instant, problemPage } from '../page-parts.ts'

const path = '/console/audit-log'
const pageSize = 50
/** Max entries of a CSV file. */
const maxCsvEntries = 5_000

const notAllowed = problemPage(
  'Audit log',
  'Your key may not read the audit log. Sign in with a key that may read.',
  403,
)

/** Instant of a day or of a date with time; null if the text is empty or invalid. */
const readTime = (text: string | null): number | null =>
  (text === null || text === ''
    ? undefined
    : parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)) ?? null

const textOf = (query: URLSearchParams, name: string): string | null => {
  const text = query.get(name)?.trim() ?? ''
  return text === '' ? null : text
}

const filterOf = (query: URLSearchParams, objectId: string | null): AuditFilter => ({
  actor: textOf(query, 'actor'),
  action: textOf(query, 'action'),
  objectId,
  from: readTime(query.get('from')),
  to: readTime(query.get('to')),
})

const beforeOf = (query: URLSearchParams): number | null => {
  const before = query.get('before') ?? ''
  return /^\d{1,15}$/.test(before) ? Number(before) : null
}

const filterForm = (query: URLSearchParams): Html =>
  html`<form class="filter" method="get" action="${path}">
${field('actor', 'User or key', { value: query.get('actor') ?? '', hint: 'usr_…, key_…, operator' })}
${field('action', 'Action', { value: query.get('action') ?? '', hint: 'user.create or user.*' })}
${field('object', 'Object', { value: query.get('object') ?? '', hint: 'ID or reference' })}
${field('from', 'From (UTC)', { type: 'date', value: query.get('from') ?? '' })}
${field('to', 'Until (UTC, not included)', { type: 'date', value: query.get('to') ?? '' })}
<button class="quiet" type="submit">Filter</button></form>`

const detailOf = ({ detail }: ListedAuditEntry): string => JSON.stringify(detail)

/** Longest text of details on the page. The CSV file has all details. */
const maxShownDetail = 400

const shownDetail = (entry: ListedAuditEntry): Html => {
  const text = detailOf(entry)
  return text.length <= maxShownDetail
    ? html`<code>${text}</code>`
    : html`<code>${text.slice(0, maxShownDetail)}…</code><p class="hint">Download CSV for all details.</p>`
}

const actorOf = (request: ConsoleRequest, { actor, actorAddress }: ListedAuditEntry): Html =>
  html`<a href="${withParameters(request, { actor, before: null })}">${actorAddress ?? html`<code>${actor}</code>`}</a>`

const showAuditLog = async (
  { database }: { readonly database: Database },
  request: ConsoleRequest,
): Promise<PageView> => {
  const { session, query } = request
  if (!mayDo(request, auditEntryList)) return notAllowed
  const object = textOf(query, 'object')
  const found = object === null ? null : await findObject(request, object, referenceKinds)
  if (found?.ok === false && found.fault.code === 'reference_ambiguous')
    return problemPage('Audit log', found.fault.message, found.status, filterForm(query))
  const objectId = found === null || object === null ? null : found.ok ? found.value : enteredText(object)
  const limit = query.has('csv') ? maxCsvEntries : pageSize
  const entriesFound = await withTenant(database, session, transaction =>
    listAudit(transaction, filterOf(query, objectId), beforeOf(query), limit + 1),
  )
  const items = entriesFound.slice(0, limit).map(auditEntryFor(session.scope))
  const last = items.at(-1)
  const entries = dataTable(request, {
    id: 'audit-log',
    label: 'Audit log',
    items,
    isSortable: false,
    hasMore: entriesFound.length > limit,
    columns: [
      { key: 'entry', name: 'Entry', isNumber: true, text: ({ entryNumber }) => String(entryNumber) },
      { key: 'time', name: 'Time', text: ({ at }) => writeInstant(at), show: ({ at }) => instant(writeInstant(at)) },
      { key: 'actor', name: 'User or key', text: ({ actor }) => actor, show: entry => actorOf(request, entry) },
      { key: 'action', name: 'Action', text: ({ action }) => action },
      {
        key: 'object',
        name: 'Object',
        text: ({ objectId }) => objectId ?? '',
        show: ({ objectId }) => (objectId === null ? '' : idLink(objectId)),
      },
      {
        key: 'detail',
        name: 'Details',
        text: detailOf,
        show: entry => html`<details><summary>Show</summary>${shownDetail(entry)}</details>`,
      },
    ],
    empty: html`<p>No entries match. Changes of keys, people, endpoints, tariffs and settings, and refused sign-ins appear here.</p>`,
  })
  return {
    title: 'Audit log',
    tables: [entries],
    body: html`<h1>Audit log</h1>
<p class="lead">Changes of this account in ${session.liveMode ? 'live' : 'test'} mode, newest first, with the user or key that made them. Refused sign-ins appear as <code>user.sign_in_failed</code> and <code>api_key.sign_in_failed</code>.</p>
${filterForm(query)}
${entries.markup}
${
  entriesFound.length > limit && last !== undefined
    ? html`<nav class="pager" aria-label="Pages"><a rel="next" href="${withParameters(request, { before: String(last.entryNumber) })}">Older</a></nav>`
    : null
}`,
  }
}

/**
 * Page of the audit log. All people, and keys that may read, open it. A CSV file has up to 5,000 entries.
 * Source: docs/rules/users.md #audit-log.
 */
export const auditLogRoutes = (dependencies: { readonly database: Database }): readonly ConsoleRoute[] => [
  getRoute(path, request => showAuditLog(dependencies, request)),
]
