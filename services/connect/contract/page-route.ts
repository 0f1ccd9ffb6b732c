import { type ConnectApiVersion, type ConnectPageName, connectPageNames, type SummaryName } from '../domain/page.ts'

/**
 * Name of each page in requests and answers; a pair if the API versions differ.
 * Source: docs/rules/connect.md #pages.
 */
const pageRoutes: Readonly<Record<ConnectPageName, string | Readonly<Record<ConnectApiVersion, string>>>> = {
  address: 'postal_address_capture',
  provider: 'provider_select',
  provider_name: 'provider_name_capture',
  login: 'session_redirect',
  library: 'tariff_select',
  structure: 'tariff_structure_select',
  fixed: 'rate_fixed_capture',
  time_of_day: 'rate_tod_capture',
  advanced: 'rate_advanced_capture',
  region: 'region_select',
  surcharge: { current: 'surcharge_capture', earlier: 'market_surcharge_capture' },
  name: 'tariff_name_capture',
  term: 'contract_term_capture',
  pending: { current: 'tariff_connection_pending', earlier: 'summary_tariff_inprogress' },
  failed: { current: 'tariff_connection_failed', earlier: 'summary_tariff_failed' },
  summary: { current: 'tariffs_summary', earlier: 'summary_tou_confirm' },
  end: { current: 'session_redirect', earlier: 'session_complete' },
}

const fixedSummaryRoute = 'summary_fixed_confirm'

/** Other names of the summary in a submit. */
const summaryAliases = ['tariff_summary', fixedSummaryRoute]

/** Routes that start or restore a session, in both API versions. */
export const startRoutes: readonly string[] = ['session_start', 'session_restore']

const routeIn = (page: ConnectPageName, apiVersion: ConnectApiVersion): string => {
  const route = pageRoutes[page]
  return typeof route === 'string' ? route : route[apiVersion]
}

const pageByRoute = new Map<string, ConnectPageName>([
  ...connectPageNames
    .filter(page => page !== 'login')
    .flatMap(page => [routeIn(page, 'current'), routeIn(page, 'earlier')].map(route => [route, page] as const)),
  ...summaryAliases.map(route => [route, 'summary'] as const),
])

/** Return the page of a route, by its name in either API version; undefined if unknown. */
export const pageOfRoute = (route: string): ConnectPageName | undefined => pageByRoute.get(route)

/** Values that decide the route of the summary. */
type SummaryRouteContext = {
  readonly apiVersion: ConnectApiVersion
  readonly summaryName: SummaryName
  readonly isFixed: boolean
}

/** Return the route of a page. In the earlier API version the summary of a fixed price has its own route. */
export const routeOf = (page: ConnectPageName, { apiVersion, summaryName, isFixed }: SummaryRouteContext): string => {
  if (page !== 'summary') return routeIn(page, apiVersion)
  if (apiVersion === 'current') return summaryName
  return isFixed ? fixedSummaryRoute : routeIn(page, apiVersion)
}
