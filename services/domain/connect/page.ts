/** Where a session can be. Both layouts have the same pages; they differ in names and in a few members of data. */
export const pages = [
  'address',
  'provider',
  'provider_name',
  'login',
  'library',
  'structure',
  'fixed',
  'time_of_day',
  'advanced',
  'region',
  'surcharge',
  'name',
  'term',
  'pending',
  'failed',
  'summary',
  'end',
] as const
export type Page = (typeof pages)[number]

export type ConnectLayout = 'current' | 'earlier'

/** How an account wants the summary to be called in the current layout. */
export const summaryNames = ['tariffs_summary', 'tariff_summary'] as const
export type SummaryName = (typeof summaryNames)[number]

export const actions = [
  'BACK',
  'CLOSE',
  'ADDRESS_CHANGE',
  'PROVIDER_MISSING',
  'TARIFF_MISSING',
  'EDIT',
  'DISCONNECT',
  'WRONG_TARIFF_REPORT',
  'SAVE',
  'DISMISS_DIRECT',
  'RECONNECT',
] as const
export type Action = (typeof actions)[number]

type PageRow = {
  /** The name of the page on the wire, in each layout. */
  readonly routes: Readonly<Record<ConnectLayout, string>>
  /** Other names under which a submit is taken. */
  readonly aliases?: readonly string[]
  readonly actions: Readonly<Record<ConnectLayout, readonly Action[]>>
}

const both = <T>(value: T): Readonly<Record<ConnectLayout, T>> => ({ current: value, earlier: value })

const leave = ['BACK', 'CLOSE'] as const
const change = ['EDIT', 'DISCONNECT'] as const

const plain = (route: string, more: readonly Action[] = []): PageRow => ({ routes: both(route), actions: both([...more, ...leave]) })

/** The one table of pages: names and buttons, in both layouts. Source: docs/rules/connect.md #pages. */
const table: Readonly<Record<Page, PageRow>> = {
  address: plain('postal_address_capture'),
  provider: plain('provider_select', ['ADDRESS_CHANGE', 'PROVIDER_MISSING']),
  provider_name: plain('provider_name_capture', ['ADDRESS_CHANGE']),
  login: { routes: both('session_redirect'), actions: both(leave) },
  library: plain('tariff_select', ['TARIFF_MISSING', 'ADDRESS_CHANGE']),
  structure: plain('tariff_structure_select'),
  fixed: plain('rate_fixed_capture'),
  time_of_day: plain('rate_tod_capture'),
  advanced: plain('rate_advanced_capture'),
  region: plain('region_select'),
  surcharge: { routes: { current: 'surcharge_capture', earlier: 'market_surcharge_capture' }, actions: both(leave) },
  name: plain('tariff_name_capture'),
  term: plain('contract_term_capture'),
  pending: {
    routes: { current: 'tariff_connection_pending', earlier: 'summary_tariff_inprogress' },
    actions: { current: [...change, ...leave], earlier: ['SAVE', 'DISCONNECT', 'DISMISS_DIRECT'] },
  },
  failed: {
    routes: { current: 'tariff_connection_failed', earlier: 'summary_tariff_failed' },
    actions: { current: [...change, ...leave], earlier: ['RECONNECT', 'DISCONNECT'] },
  },
  summary: {
    routes: { current: 'tariffs_summary', earlier: 'summary_tou_confirm' },
    aliases: ['tariff_summary', 'summary_fixed_confirm'],
    actions: { current: ['WRONG_TARIFF_REPORT', ...change, 'CLOSE', 'BACK'], earlier: ['SAVE', ...change] },
  },
  end: { routes: { current: 'session_redirect', earlier: 'session_complete' }, actions: both([]) },
}

/** The routes that begin a session or come back to it, in whatever layout. */
export const startRoutes: readonly string[] = ['session_start', 'session_restore']

const byRoute = new Map<string, Page>(
  pages.flatMap(page => {
    const { routes, aliases = [] } = table[page]
    return page === 'login' ? [] : [routes.current, routes.earlier, ...aliases].map(route => [route, page] as const)
  }),
)

/** Find the page that a route names, in the names of either layout; undefined for none. */
export const pageOfRoute = (route: string): Page | undefined => byRoute.get(route)

/** What decides how the summary is called. */
export type SummaryNaming = { readonly layout: ConnectLayout; readonly summaryName: SummaryName; readonly isFixed: boolean }

/** Name a page on the wire. In the earlier layout the summary of a fixed price has a page of its own. */
export const routeOf = (page: Page, { layout, summaryName, isFixed }: SummaryNaming): string => {
  if (page !== 'summary') return table[page].routes[layout]
  if (layout === 'current') return summaryName
  return isFixed ? 'summary_fixed_confirm' : table.summary.routes.earlier
}

/** List the buttons of a page. */
export const actionsOf = (page: Page, layout: ConnectLayout): readonly Action[] => table[page].actions[layout]

/** Tell whether a word is a button that some page may have. */
export const isAction = (word: string): word is Action => actions.some(action => action === word)

/** The place of a page in the order in which programs without a screen post them. */
export const placeOf = (page: Page): number => pages.indexOf(page)
