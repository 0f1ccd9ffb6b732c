import { type Access, mayCall } from '../contract/operation.ts'
import { asMarkup, type Html, html } from '../web/ui-kit/html.ts'
import type { ConsoleSession } from './session.ts'

type NavigationGroup = {
  /** Title of the group; null for the first group. */
  readonly title: string | null
  /** Path and name of each page. */
  readonly pages: readonly (readonly [path: string, name: string])[]
}

/** All entries of the navigation, by subject. A new area of the console adds its pages here. */
const navigationGroups: readonly NavigationGroup[] = [
  { title: null, pages: [['/console', 'Overview']] },
  {
    title: 'Energy and cost',
    pages: [
      ['/console/costs', 'Costs'],
      ['/console/sessions', 'Sessions'],
      ['/console/records', 'Records'],
      ['/console/corrections', 'Corrections'],
      ['/console/imports', 'Import readings'],
      ['/console/statements', 'Statements'],
      ['/console/simulations', 'Simulations'],
      ['/console/unpriced', 'Unpriced energy'],
    ],
  },
  {
    title: 'Registry',
    pages: [
      ['/console/locations', 'Locations'],
      ['/console/devices', 'Devices'],
      ['/console/customers', 'Customers'],
    ],
  },
  {
    title: 'Pricing',
    pages: [
      ['/console/prices', 'Prices'],
      ['/console/schedules', 'Schedules'],
      ['/console/tariffs', 'Tariffs'],
      ['/console/plans', 'Plans'],
      ['/console/charges', 'Charges'],
      ['/console/calendars', 'Calendars'],
    ],
  },
  {
    title: 'Deliveries',
    pages: [
      ['/console/events', 'Events'],
      ['/console/webhooks', 'Webhooks'],
    ],
  },
  {
    title: 'Settings',
    pages: [
      ['/console/people', 'People'],
      ['/console/keys', 'Keys'],
      ['/console/audit-log', 'Audit log'],
      ['/console/account', 'Account'],
    ],
  },
]

/** Access of pages that not every visitor may open. The others show what the API allows. */
const accessOf: Readonly<Record<string, Access>> = {
  '/console/imports': 'metering',
  '/console/people': 'owner',
  '/console/keys': 'owner',
  '/console/audit-log': 'read',
}

const mayOpen = (path: string, { scope }: Pick<ConsoleSession, 'scope'>): boolean =>
  mayCall({ access: accessOf[path] ?? 'open' }, scope)

const isCurrent = (target: string, path: string): boolean =>
  path === target || (target !== '/console' && path.startsWith(`${target}/`))

const groupOf = ({ title, pages }: NavigationGroup, path: string, session: Pick<ConsoleSession, 'scope'>): Html =>
  html`${title === null ? null : html`<p>${title}</p>`}<ul>${pages
    .filter(([target]) => mayOpen(target, session))
    .map(([target, name]) => {
      const current = isCurrent(target, path) ? asMarkup(' aria-current="page"') : null
      return html`<li><a href="${target}"${current}>${name}</a></li>`
    })}</ul>`

/** Create the navigation. On phones it is a popover, which the button of the header opens. */
export const navigation = (path: string, session: Pick<ConsoleSession, 'scope'>): Html =>
  html`<nav class="places" id="places" popover aria-label="Console">${navigationGroups.map(group => groupOf(group, path, session))}</nav>`

/** Button that opens the navigation on phones. */
export const navigationButton: Html = html`<button class="quiet menu" type="button" popovertarget="places">Menu</button>`

/** Search for names, own references and ids. The script focuses it with the key "/". */
export const searchForm = (query: string): Html =>
  html`<form class="find" role="search" method="get" action="/console/find">
<input name="query" type="search" value="${query}" maxlength="64" placeholder="Find a reference or id" aria-label="Find a reference or id"
autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd></form>`
