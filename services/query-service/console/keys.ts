import { writeInstant } from '../../domain/instant.ts'
import { type ApiKeyScope, createApiKey, listApiKeys, revokeApiKey, type StoredApiKey } from '../../platform/postgres/api-keys.ts'
import { appendAudit } from '../../platform/postgres/audit-log.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import type { Secret } from '../../platform/secrets.ts'
import { type Content, type Html, html } from '../reference/html.ts'
import type { Fault } from './api.ts'
import { form, type View } from './frame.ts'
import { choice, faultNotice, field, goodNotice, instant, type Row, row, table } from './parts.ts'
import { get, post, type Route, type Visit } from './visit.ts'

type KeyMeans = { readonly database: Database; readonly secret: Secret }

const scopes: readonly (readonly [ApiKeyScope, string])[] = [
  ['all', 'Everything'],
  ['metering', 'Send records'],
  ['read', 'Read'],
]

const noRight: Fault = { code: 'insufficient_scope', message: 'Sign in with a key of scope all to see and change keys', field: null }
const tooLong: Fault = { code: 'field_too_long', message: 'A description has at most 255 characters', field: 'description' }

const revokeForm = ({ csrf }: Visit, { id, last4 }: StoredApiKey): Html =>
  form(
    csrf,
    `/console/keys/${id}/revoke`,
    html`<button class="danger" type="submit" aria-label="Revoke the key that ends in ${last4}">Revoke</button>`,
    'inline',
  )

const rowOf = (visit: Visit, key: StoredApiKey): Row =>
  row(
    html`<code>${key.id}</code>${key.id === visit.signedIn.keyId ? html` <span class="tag">this session</span>` : null}`,
    html`<code>…${key.last4}</code>`,
    key.scope,
    key.description ?? '',
    instant(writeInstant(key.createdAt)),
    key.revokedAt === null ? revokeForm(visit, key) : html`revoked ${instant(writeInstant(key.revokedAt))}`,
  )

const secretNotice = (secret: string): Html =>
  html`<div class="notice good" role="status"><p>This is the new key. Keep it now: it is not stored and cannot be shown again.</p><p><code class="secret">${secret}</code></p></div>`

const list = async (
  { database }: KeyMeans,
  visit: Visit,
  above: Content = null,
  draft: { description?: string; fault?: Fault } = {},
): Promise<View> => {
  if (visit.signedIn.scope !== 'all') return { title: 'Keys', status: 403, body: html`<h1>Keys</h1>${faultNotice(noRight)}` }
  const keys = await withTenant(database, visit.signedIn, ({ query }) => listApiKeys(query, visit.signedIn))
  return {
    title: 'Keys',
    status: draft.fault === undefined ? 200 : 400,
    body: html`<h1>Keys</h1>${above}
<p class="lead">Programs log in with a key of this account. Those of the ${visit.signedIn.liveMode ? 'live' : 'test'} mode are here.</p>
${table(
  'Keys',
  ['Key', 'Ends in', 'May', 'For', 'Made', 'State'],
  keys.map(key => rowOf(visit, key)),
  'This mode has no key.',
)}
<section aria-labelledby="new"><h2 id="new">New key</h2>
${form(
  visit.csrf,
  '/console/keys',
  html`${choice('scope', 'What it may do', scopes, 'all')}${field('description', 'What it is for', { value: draft.description ?? '', fault: draft.fault ?? null })}<button type="submit">Make a key</button>`,
)}</section>`,
  }
}

/** Write who changed a key, and which, into the transaction of the change. */
const audit = async (transaction: TenantTransaction, { signedIn, at }: Visit, action: string, key: StoredApiKey): Promise<void> => {
  const { scope, last4, description, revokedAt } = key
  const detail = { id: key.id, scope, last4, description, time_revoked: revokedAt === null ? null : writeInstant(revokedAt) }
  await appendAudit(transaction.query, transaction, { actor: signedIn.keyId, action, objectId: key.id, detail, at })
}

const create = async (means: KeyMeans, visit: Visit): Promise<View> => {
  const description = visit.form.get('description')?.trim() ?? ''
  if (visit.signedIn.scope !== 'all') return list(means, visit)
  if ([...description].length > 255) return list(means, visit, null, { description, fault: tooLong })
  const scope = scopes.find(([known]) => known === visit.form.get('scope'))?.[0] ?? 'read'
  const made = await withTenant(means.database, visit.signedIn, async transaction => {
    const draft = { scope, description: description === '' ? null : description }
    const created = await createApiKey(transaction.query, transaction, draft, means.secret, visit.at)
    await audit(transaction, visit, 'api_key.create', created.apiKey)
    return created
  })
  return list(means, visit, secretNotice(made.secret))
}

const revoke = async (means: KeyMeans, visit: Visit): Promise<View> => {
  if (visit.signedIn.scope !== 'all') return list(means, visit)
  const [id = ''] = visit.ids
  const revoked = await withTenant(means.database, visit.signedIn, async transaction => {
    const changed = await revokeApiKey(transaction.query, transaction, id, visit.at)
    if (changed !== null) await audit(transaction, visit, 'api_key.revoke', changed)
    return changed
  })
  return list(
    means,
    visit,
    revoked === null ? null : goodNotice(`The key that ends in ${revoked.last4} is revoked; its tokens end within a minute.`),
  )
}

/** The pages of keys: a key of scope `all` sees, makes and revokes those of its own mode. Source: docs/rules/authentication.md #console. */
export const keyRoutes = (means: KeyMeans): readonly Route[] => [
  get('/console/keys', visit => list(means, visit)),
  post('/console/keys', visit => create(means, visit)),
  post('/console/keys/{}/revoke', visit => revoke(means, visit)),
]
