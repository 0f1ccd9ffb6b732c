import { type Access, mayCall } from '../contract/operation.ts'
import { asMarkup, type Html, html } from '../web/ui-kit/html.ts'
import type { ConsoleSession } from './session.ts'

type NavigationGroup = {
  /** Title of the group; null for the first group. */
  readonly title: string | null
  /** Path and name of each page. */
  readonly pages: readonly (readonly [path: string, name: string])[]
}

/** Pages of the console by subject. An added entry follows one of these. */
const navigationGroups: readonly NavigationGroup[] = [
  { title: null, pages: [['/console', 'Overview']] },
  {
    title: 'Energy and cost',
    pages: [
      ['/console/costs', 'Costs'],
      ['/console/sessions', 'Sessions'],
      ['/console/records', 'Records'],
      ['/console/corrections', 'Corrections'],
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
  '/console/people': 'owner',
  '/console/keys': 'owner',
  '/console/audit-log': 'read',
}

const isCurrent = (target: string, path: string): boolean =>
  path === target || (target !== '/console' && path.startsWith(`${target}/`))

type Entry = { readonly path: string; readonly name: string; readonly access: Access }

/** Entry of a page that another part adds. It follows the entry with the path `after`. */
export type AddedEntry = Entry & { readonly after: string }

/** Return the entry of a page of the console, and the added entries that follow it. */
const entriesOf = ([path, name]: NavigationGroup['pages'][number], added: readonly AddedEntry[]): readonly Entry[] => [
  { path, name, access: accessOf[path] ?? 'open' },
  ...added.filter(({ after }) => after === path),
]

/**
 * Create the navigation with the added entries. On phones it is a popover, which the button of the header opens.
 */
export const navigation = (
  added: readonly AddedEntry[],
  current: string,
  { scope }: Pick<ConsoleSession, 'scope'>,
): Html => {
  const linkOf = ({ path, name }: Entry): Html =>
    html`<li><a href="${path}"${isCurrent(path, current) ? asMarkup(' aria-current="page"') : null}>${name}</a></li>`
  const groups = navigationGroups.map(({ title, pages }) => {
    const open = pages.flatMap(page => entriesOf(page, added)).filter(entry => mayCall(entry, scope))
    return html`${title === null ? null : html`<p>${title}</p>`}<ul>${open.map(linkOf)}</ul>`
  })
  return html`<nav class="places" id="places" popover aria-label="Console">${groups}</nav>`
}

/** Button that opens the navigation on phones. */
export const navigationButton: Html = html`<button class="quiet menu" type="button" popovertarget="places">Menu</button>`

/** Search for names, own references and ids. The script focuses it with the key "/". */
export const searchForm = (query: string): Html =>
  html`<form class="find" role="search" method="get" action="/console/find">
<input name="query" type="search" value="${query}" maxlength="64" placeholder="Find a reference or id" aria-label="Find a reference or id"
autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd></form>`
