/** Where a session can be. Both layouts have the same pages; they differ in names and in a few members of data. */
export const connectPageNames = [
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
export type ConnectPageName = (typeof connectPageNames)[number]

export type ConnectApiVersion = 'current' | 'earlier'

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
export type ConnectAction = (typeof actions)[number]

type PageDefinition = {
  /** The name of the page on the wire, in each layout. */
  readonly routes: Readonly<Record<ConnectApiVersion, string>>
  /** Other names under which a submit is taken. */
  readonly aliases?: readonly string[]
  readonly actions: Readonly<Record<ConnectApiVersion, readonly ConnectAction[]>>
}

const inBothVersions = <T>(value: T): Readonly<Record<ConnectApiVersion, T>> => ({ current: value, earlier: value })

const leaveActions = ['BACK', 'CLOSE'] as const
const changeActions = ['EDIT', 'DISCONNECT'] as const

const simplePage = (route: string, more: readonly ConnectAction[] = []): PageDefinition => ({
  routes: inBothVersions(route),
  actions: inBothVersions([...more, ...leaveActions]),
})

/** The one table of pages: names and buttons, in both layouts. Source: docs/rules/connect.md #pages. */
const pageDefinitions: Readonly<Record<ConnectPageName, PageDefinition>> = {
  address: simplePage('postal_address_capture'),
  provider: simplePage('provider_select', ['ADDRESS_CHANGE', 'PROVIDER_MISSING']),
  provider_name: simplePage('provider_name_capture', ['ADDRESS_CHANGE']),
  login: { routes: inBothVersions('session_redirect'), actions: inBothVersions(leaveActions) },
  library: simplePage('tariff_select', ['TARIFF_MISSING', 'ADDRESS_CHANGE']),
  structure: simplePage('tariff_structure_select'),
  fixed: simplePage('rate_fixed_capture'),
  time_of_day: simplePage('rate_tod_capture'),
  advanced: simplePage('rate_advanced_capture'),
  region: simplePage('region_select'),
  surcharge: {
    routes: { current: 'surcharge_capture', earlier: 'market_surcharge_capture' },
    actions: inBothVersions(leaveActions),
  },
  name: simplePage('tariff_name_capture'),
  term: simplePage('contract_term_capture'),
  pending: {
    routes: { current: 'tariff_connection_pending', earlier: 'summary_tariff_inprogress' },
    actions: { current: [...changeActions, ...leaveActions], earlier: ['SAVE', 'DISCONNECT', 'DISMISS_DIRECT'] },
  },
  failed: {
    routes: { current: 'tariff_connection_failed', earlier: 'summary_tariff_failed' },
    actions: { current: [...changeActions, ...leaveActions], earlier: ['RECONNECT', 'DISCONNECT'] },
  },
  summary: {
    routes: { current: 'tariffs_summary', earlier: 'summary_tou_confirm' },
    aliases: ['tariff_summary', 'summary_fixed_confirm'],
    actions: {
      current: ['WRONG_TARIFF_REPORT', ...changeActions, 'CLOSE', 'BACK'],
      earlier: ['SAVE', ...changeActions],
    },
  },
  end: { routes: { current: 'session_redirect', earlier: 'session_complete' }, actions: inBothVersions([]) },
}

/** The routes that begin a session or come back to it, in whatever layout. */
export const startRoutes: readonly string[] = ['session_start', 'session_restore']

const pageByRoute = new Map<string, ConnectPageName>(
  connectPageNames.flatMap(page => {
    const { routes, aliases = [] } = pageDefinitions[page]
    return page === 'login' ? [] : [routes.current, routes.earlier, ...aliases].map(route => [route, page] as const)
  }),
)

/** Find the page that a route names, in the names of either layout; undefined for none. */
export const pageOfRoute = (route: string): ConnectPageName | undefined => pageByRoute.get(route)

/** What decides how the summary is called. */
export type SummaryRouteContext = {
  readonly apiVersion: ConnectApiVersion
  readonly summaryName: SummaryName
  readonly isFixed: boolean
}

/** Name a page on the wire. In the earlier layout the summary of a fixed price has a page of its own. */
export const routeOf = (page: ConnectPageName, { apiVersion, summaryName, isFixed }: SummaryRouteContext): string => {
  if (page !== 'summary') return pageDefinitions[page].routes[apiVersion]
  if (apiVersion === 'current') return summaryName
  return isFixed ? 'summary_fixed_confirm' : pageDefinitions.summary.routes.earlier
}

/** List the buttons of a page. */
export const actionsOf = (page: ConnectPageName, apiVersion: ConnectApiVersion): readonly ConnectAction[] =>
  pageDefinitions[page].actions[apiVersion]

/** Tell whether a word is a button that some page may have. */
export const isAction = (word: string): word is ConnectAction => actions.some(action => action === word)

/** The place of a page in the order in which programs without a screen post them. */
export const pageOrder = (page: ConnectPageName): number => connectPageNames.indexOf(page)
