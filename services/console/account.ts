import {
  type AccountBrandWire,
  accountBrandNames,
  accountBrandRetrieve,
  accountBrandUpdate,
} from '../contract/registry/account-brand.ts'
import { logoUrlOf } from '../contract/registry/provider.ts'
import { type Content, type Html, html } from '../web/ui-kit/html.ts'
import type { Fault } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from './console-request.ts'
import { form, type PageView } from './page-frame.ts'
import { errorNotice, facts, field, problemPage, successNotice } from './page-parts.ts'

const path = '/console/account'

const names = ['display_name', ...accountBrandNames] as const
type Draft = Readonly<Record<(typeof names)[number], string | null>>

const labels: Readonly<Record<(typeof names)[number], string>> = {
  display_name: 'Name',
  privacy_url: 'Privacy notice',
  terms_url: 'Terms of use',
  logo_url: 'Logo',
  brand_color: 'Colour',
}

const webHint = 'https://… Leave empty to remove.'
const hints: Readonly<Record<(typeof names)[number], string>> = {
  display_name: 'Customers see this name.',
  privacy_url: webHint,
  terms_url: webHint,
  logo_url: webHint,
  brand_color: 'Buttons and links have this colour, such as #0a5c3e. Leave empty to remove.',
}

const onlyLive = 'The brand applies to both modes. Sign in to live mode to change it.'
const onlyWriters =
  'Sign in with a live key with scope all, or ask a user with the role support or owner, to change it.'

const mayChange = (request: ConsoleRequest): boolean => mayDo(request, accountBrandUpdate) && request.session.liveMode

/** Show the logo, or initials if the logo cannot be loaded. */
const logo = ({ display_name: displayName, logo_url: url }: AccountBrandWire): Html => {
  const source = url === null ? null : html` data-picture="${url}"`
  const initials = logoUrlOf({ displayName, logoUrl: null })
  return html`<img class="logo" src="${initials}" alt="" width="64" height="64"${source}>`
}

/** Show a colour as a square. */
const swatch = (color: string): Html =>
  html`<svg width="16" height="16" aria-hidden="true"><rect width="16" height="16" rx="3" fill="${color}"></rect></svg>`

const valueText = (name: keyof Draft, value: string | null): Content => {
  if (value === null) return html`<span class="none">none</span>`
  return name === 'brand_color' ? html`${swatch(value)} <code>${value}</code>` : html`<code>${value}</code>`
}

const readOnlyBrand = (request: ConsoleRequest, brand: AccountBrandWire): Html =>
  html`${facts(...accountBrandNames.map(name => [labels[name], valueText(name, brand[name])] as const))}
<p class="hint">${mayDo(request, accountBrandUpdate) ? onlyLive : onlyWriters}</p>`

const editForm = ({ csrf }: ConsoleRequest, draft: Draft, fault: Fault | null): Html =>
  form(
    csrf,
    path,
    html`${names.map(name =>
      field(name, labels[name], {
        value: draft[name] ?? '',
        type: name.endsWith('_url') ? 'url' : 'text',
        required: name === 'display_name',
        hint: hints[name],
        fault,
      }),
    )}<button type="submit">Save brand</button>`,
  )

type AccountPage = {
  readonly notice?: Content
  readonly draft?: Draft
  readonly fault?: Fault
  readonly status?: number
}

const accountPage = (
  request: ConsoleRequest,
  brand: AccountBrandWire,
  { notice = null, draft = brand, fault, status = 200 }: AccountPage = {},
): PageView => ({
  title: 'Account',
  status,
  images: [brand.logo_url],
  body: html`<h1>Account</h1>${notice}${fault !== undefined && fault.field === null ? errorNotice(fault) : null}
${facts(['Name', brand.display_name], ['ID', html`<code>${brand.account_id}</code>`])}
<section aria-labelledby="brand"><h2 id="brand">Connect branding</h2>
<p class="lead">Connect shows your name, logo and colour, and links to these pages.</p>
<p>${logo(brand)} ${brand.brand_color === null ? null : swatch(brand.brand_color)}</p>
${mayChange(request) ? editForm(request, draft, fault ?? null) : readOnlyBrand(request, brand)}</section>`,
})

const retrieveBrand = (request: ConsoleRequest) => request.call(accountBrandRetrieve, {})

const showAccount = async (request: ConsoleRequest): Promise<PageView> => {
  const brand = await retrieveBrand(request)
  return brand.ok ? accountPage(request, brand.value) : problemPage('Account', brand.fault.message, brand.status)
}

/** Replace the API name of a field by its label. */
const withLabel = (fault: Fault): Fault => {
  const name = names.find(one => one === fault.field)
  return name === undefined ? fault : { ...fault, message: fault.message.replace(name, labels[name]) }
}

const saveBrand = async (request: ConsoleRequest): Promise<PageView> => {
  const texts = names.map(name => [name, request.form.get(name)?.trim() ?? ''] as const)
  const draft = Object.fromEntries(texts) as Draft
  const body = Object.fromEntries(
    texts.map(([name, text]) => [name, text === '' && name !== 'display_name' ? null : text]),
  )
  const saved = await request.call(accountBrandUpdate, {}, body)
  if (saved.ok) return accountPage(request, saved.value, { notice: successNotice('Brand saved.') })
  const brand = await retrieveBrand(request)
  if (!brand.ok) return problemPage('Account', brand.fault.message, brand.status)
  return accountPage(request, brand.value, { draft, fault: withLabel(saved.fault), status: saved.status })
}

/**
 * Page of the account with the brand that Connect shows. Only live mode changes the brand.
 * Source: docs/rules/connect.md #brand.
 */
export const accountRoutes: readonly ConsoleRoute[] = [getRoute(path, showAccount), postRoute(path, saveBrand)]
