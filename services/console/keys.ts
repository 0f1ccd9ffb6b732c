import { writeInstant } from '../domain/instant.ts'
import type { Secret } from '../platform/access/secrets.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  type ApiKeyScope,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  type StoredApiKey,
} from '../platform/postgres/registry/api-keys.ts'
import { appendAudit } from '../platform/postgres/registry/audit-log.ts'
import { type TenantTransaction, withTenant } from '../platform/postgres/transaction.ts'
import { type Content, type Html, html } from '../web/ui-kit/html.ts'
import type { Fault } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from './console-request.ts'
import { confirmationFault, confirmPage } from './kit/confirm.ts'
import { dataTable, type TableView } from './kit/data-table.ts'
import { form, type PageView } from './page-frame.ts'
import { choice, errorNotice, field, instant, successNotice } from './page-parts.ts'

type KeyPageDependencies = { readonly database: Database; readonly secret: Secret }

const scopes: readonly (readonly [ApiKeyScope, string])[] = [
  ['all', 'All: full access'],
  ['metering', 'Metering: send records'],
  ['read', 'Read: read only'],
]

const notAllowed: Fault = {
  code: 'insufficient_scope',
  message: 'Sign in with a key with scope all to view and change keys.',
  field: null,
}
const descriptionTooLong: Fault = {
  code: 'field_too_long',
  message: 'The description must have at most 255 characters.',
  field: 'description',
}

const revokeLink = ({ id, last4 }: StoredApiKey): Html =>
  html`<a href="/console/keys/${id}/revoke" aria-label="Revoke the key ending in ${last4}">Revoke</a>`

const currentTag = html` <span class="tag">this session</span>`

const keysPath = '/console/keys'

const keyTable = ({ session, query }: ConsoleRequest, items: readonly StoredApiKey[]): TableView =>
  dataTable<StoredApiKey>(
    { path: keysPath, query },
    {
      id: 'keys',
      label: 'Keys',
      items,
      empty: 'No keys yet. Create one below.',
      hasMore: false,
      columns: [
        {
          key: 'id',
          name: 'Key',
          text: key => key.id,
          show: key => html`<code>${key.id}</code>${key.id === session.keyId ? currentTag : null}`,
        },
        { key: 'last4', name: 'Ends in', text: key => key.last4, show: key => html`<code>…${key.last4}</code>` },
        { key: 'scope', name: 'Scope', text: key => key.scope },
        { key: 'description', name: 'Description', text: key => key.description ?? '' },
        {
          key: 'time_created',
          name: 'Created',
          text: key => writeInstant(key.createdAt),
          show: key => instant(writeInstant(key.createdAt)),
        },
        {
          key: 'time_revoked',
          name: 'Status',
          text: key => (key.revokedAt === null ? '' : writeInstant(key.revokedAt)),
          show: key =>
            key.revokedAt === null ? revokeLink(key) : html`Revoked ${instant(writeInstant(key.revokedAt))}`,
        },
      ],
    },
  )

const secretNotice = (secret: string): Html =>
  html`<div class="notice good" role="status"><p>Key created. Copy it now. You cannot view it again.</p>
<p><code class="secret">${secret}</code></p></div>`

const showKeys = async (
  { database }: KeyPageDependencies,
  request: ConsoleRequest,
  notice: Content = null,
  draft: { description?: string; fault?: Fault } = {},
): Promise<PageView> => {
  if (request.session.scope !== 'all')
    return { title: 'Keys', status: 403, body: html`<h1>Keys</h1>${errorNotice(notAllowed)}` }
  const keys = await withTenant(database, request.session, ({ query }) => listApiKeys(query, request.session))
  const table = keyTable(request, keys)
  return {
    title: 'Keys',
    tables: [table],
    status: draft.fault === undefined ? 200 : 400,
    body: html`<h1>Keys</h1>${notice}
<p class="lead">API keys of this account in ${request.session.liveMode ? 'live' : 'test'} mode.</p>
${table.markup}
<section aria-labelledby="new"><h2 id="new">Create key</h2>
${form(
  request.csrf,
  keysPath,
  html`${choice('scope', 'Scope', scopes, 'all')}
${field('description', 'Description', { value: draft.description ?? '', fault: draft.fault ?? null })}
<button type="submit">Create key</button>`,
)}</section>`,
  }
}

/** Write the audit entry in the transaction of the change. */
const auditKeyChange = async (
  transaction: TenantTransaction,
  { session, at }: ConsoleRequest,
  action: string,
  key: StoredApiKey,
): Promise<void> => {
  const { scope, last4, description, revokedAt } = key
  const detail = {
    id: key.id,
    scope,
    last4,
    description,
    time_revoked: revokedAt === null ? null : writeInstant(revokedAt),
  }
  await appendAudit(transaction.query, transaction, { actor: session.keyId, action, objectId: key.id, detail, at })
}

const createKey = async (dependencies: KeyPageDependencies, request: ConsoleRequest): Promise<PageView> => {
  const description = request.form.get('description')?.trim() ?? ''
  if (request.session.scope !== 'all') return showKeys(dependencies, request)
  if ([...description].length > 255)
    return showKeys(dependencies, request, null, { description, fault: descriptionTooLong })
  const scope = scopes.find(([knownScope]) => knownScope === request.form.get('scope'))?.[0] ?? 'read'
  const created = await withTenant(dependencies.database, request.session, async transaction => {
    const draft = { scope, description: description === '' ? null : description }
    const created = await createApiKey(transaction.query, transaction, draft, dependencies.secret, request.at)
    await auditKeyChange(transaction, request, 'api_key.create', created.apiKey)
    return created
  })
  return showKeys(dependencies, request, secretNotice(created.secret))
}

/** Ask for the last four characters of a key, then revoke the key. */
const revokeKey = async (dependencies: KeyPageDependencies, request: ConsoleRequest): Promise<PageView> => {
  if (request.session.scope !== 'all') return showKeys(dependencies, request)
  const [id = ''] = request.ids
  const keys = await withTenant(dependencies.database, request.session, ({ query }) =>
    listApiKeys(query, request.session),
  )
  const key = keys.find(one => one.id === id && one.revokedAt === null)
  if (key === undefined) return showKeys(dependencies, request)
  const isSent = request.form.has('confirm')
  const fault = isSent ? confirmationFault(request, key.last4) : null
  if (!isSent || fault !== null) return confirmRevocation(request, key, fault)
  const revoked = await withTenant(dependencies.database, request.session, async transaction => {
    const changed = await revokeApiKey(transaction.query, transaction, id, request.at)
    if (changed !== null) await auditKeyChange(transaction, request, 'api_key.revoke', changed)
    return changed
  })
  return showKeys(
    dependencies,
    request,
    revoked === null
      ? null
      : successNotice(`The key ending in ${revoked.last4} is revoked. Its tokens expire within 60 s.`),
  )
}

const confirmRevocation = (request: ConsoleRequest, { id, last4, description }: StoredApiKey, fault: Fault | null) =>
  confirmPage(request, {
    title: 'Revoke key',
    effects: html`<p>Requests with the key ending in <code>${last4}</code>${description === null ? null : html` (${description})`}
are refused within 60 s. A revoked key cannot be restored.</p>`,
    action: `/console/keys/${id}/revoke`,
    button: 'Revoke key',
    back: keysPath,
    typed: last4,
    fault,
  })

/**
 * Pages of API keys. Keys with scope `all` can list, create and revoke the keys of their mode.
 * Source: docs/rules/authentication.md #console.
 */
export const keyRoutes = (dependencies: KeyPageDependencies): readonly ConsoleRoute[] => [
  getRoute(keysPath, request => showKeys(dependencies, request)),
  postRoute(keysPath, request => createKey(dependencies, request)),
  getRoute('/console/keys/:key/revoke', request => revokeKey(dependencies, request)),
  postRoute('/console/keys/:key/revoke', request => revokeKey(dependencies, request)),
]
