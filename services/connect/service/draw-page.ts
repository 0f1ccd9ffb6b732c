import { exactNumber, isNumberText, scaledNumber } from '../../contract/json/exact-number.ts'
import { structureType } from '../../contract/registry/location-view.ts'
import { logoUrlOf } from '../../contract/registry/provider.ts'
import { scheduleToWire } from '../../contract/tariffs/tariff-schedule.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { moneyScale } from '../../domain/quantity.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import { findProviders, listProviders } from '../../platform/postgres/registry/providers.ts'
import { tariffTermsOf } from '../contract/captured-tariff.ts'
import type { ConnectPage } from '../contract/connect-call.ts'
import { withToken } from '../contract/connect-url.ts'
import { routeOf } from '../contract/page-route.ts'
import { standingChargeToWire } from '../contract/standing-charge.ts'
import { isReadOnly } from '../domain/completed-session.ts'
import { actionsOf, type ConnectAction, type ConnectPageName } from '../domain/page.ts'
import { type ChosenProvider, type ConnectState, structuresOf } from '../domain/session.ts'
import { asksStandingCharge } from '../domain/standing-charge.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import { currentTariff, libraryTariffsOf } from './open-session.ts'
import { standingChargeOf } from './save-standing-charge.ts'
import { desiredTariffOf } from './save-tariff.ts'
import {
  dateOrNull,
  ratesOfDesired,
  ratesOfStored,
  type SummaryContext,
  type SummaryTariff,
  summaryTariffToWire,
  zoneOfSession,
} from './summary.ts'

/** Session, location and call of a page. */
export type PageContext = SummaryContext & { readonly token: string }

type Data = Readonly<Record<string, unknown>>

const headerOf = (provider: ChosenProvider | null): Data =>
  provider === null
    ? {}
    : { provider: { id: provider.id, display_name: provider.displayName, logo_url: logoUrlOf(provider) } }

/** Return the address of a page. The country is always present, because pages list providers by country. */
const addressOf = ({ address }: ConnectState): Data => ({ country_code: '', ...address })

const numberOf = (text: string | null) => (text !== null && isNumberText(text) ? exactNumber(text) : 0)

const providersData = async ({ transaction, session }: PageContext): Promise<Data> => {
  const { state, request } = session
  const providers = await listProviders(transaction.query, {
    country: state.address.country_code ?? '',
    addressType: request.addressType,
  })
  return {
    providers: providers.map(provider => ({
      id: provider.id,
      display_name: provider.displayName,
      logo_url: logoUrlOf(provider),
    })),
    postal_address: addressOf(state),
  }
}

const libraryData = async ({ transaction, session }: PageContext): Promise<Data> => {
  const tariffs = await libraryTariffsOf(transaction, session, session.state.provider?.id ?? null)
  return { tariffs: tariffs.map(({ id, name, description }) => ({ id, name, description: description ?? '' })) }
}

const emptyPeriod = { cost: 0, valid_from: '00:00:00', valid_to: '00:00:00' }

const hoursData = ({ hours }: ConnectState): Data => ({
  hours:
    hours === null ? [emptyPeriod, emptyPeriod] : hours.map(period => ({ ...period, cost: numberOf(period.cost) })),
})

const wholeDay = [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [] }] }],
  },
]

const advancedData = ({ config, state }: StoredSession, zone: TimeZone | null): Data => {
  const open = { start: null, end: null }
  const terms = state.advanced === null ? null : tariffTermsOf(config, { ...state, structure: 'ADVANCED' }, open)
  return {
    tariff: {
      market_rates: state.advanced?.marketRates ?? false,
      contract_start_date: dateOrNull(zone, state.term?.start),
      contract_end_date: dateOrNull(zone, state.term?.end),
      schedule: terms?.ok === true ? scheduleToWire(terms.value.schedule, true) : wholeDay,
    },
  }
}

const surchargeData = ({ config, state }: StoredSession): Data => {
  const needsRegion = config.layout === 'earlier' && !state.hasMarketSource && state.regions.length > 1
  return {
    surcharge: {
      fixed: numberOf(state.surcharge?.fixed ?? null),
      percentage: numberOf(state.surcharge?.percentage ?? null),
    },
    ...(needsRegion ? { regions: state.regions, region: state.region } : {}),
  }
}

/** Return the standing charge of a page with prices; nothing if the session does not ask for it. */
const standingChargeData = ({ config, state }: StoredSession): Data =>
  asksStandingCharge(config)
    ? { standing_charge: standingChargeToWire(state.standingCharge ?? null, state.address.country_code) }
    : {}

/** Return the standing charge that follows the tariff of a summary; nothing if there is none. */
const summaryChargeData = async (
  { transaction, session }: PageContext,
  tariff: StoredTariff | SummaryTariff,
): Promise<Data> => {
  if (!asksStandingCharge(session.config) || !isStored(tariff)) return {}
  const charge = await standingChargeOf(transaction, tariff.id)
  return charge === null ? {} : { standing_charge: standingChargeToWire(charge, undefined) }
}

/**
 * Return the contract term of a page. An open end is null in both API versions, although the earlier version may omit
 * it.
 */
const termData = ({ term }: ConnectState, zone: TimeZone | null): Data => ({
  contract_start_date: dateOrNull(zone, term?.start),
  contract_end_date: dateOrNull(zone, term?.end),
  contract_term_type: term?.type ?? '',
  ...(zone === null ? {} : { location_timezone: zone.name }),
})

/** Return the tariff of the summary: the saved tariff, or the tariff that would be saved. */
const shownTariff = async ({
  transaction,
  session,
  location,
  at,
}: PageContext): Promise<StoredTariff | SummaryTariff | null> => {
  const stored = session.tariffId === null ? null : await retrieveTariff(transaction, session.tariffId)
  const { source } = session.state
  if (stored !== null && (session.config.layout === 'current' || source === 'direct' || session.completedAt !== null))
    return stored
  if (source === 'captured' || source === 'library') {
    const desiredTariff = await desiredTariffOf(transaction, session)
    return desiredTariff.ok ? desiredTariff.value : null
  }
  return location === null ? null : currentTariff(transaction, location.id, session.config, at)
}

const isStored = (tariff: StoredTariff | SummaryTariff): tariff is StoredTariff => 'locationId' in tariff

/** Return the provider of the session. If the person has chosen none, return the provider of the saved tariff. */
const providerOf = async (
  { transaction, session }: PageContext,
  tariff: StoredTariff | SummaryTariff,
): Promise<Data> => {
  if (session.state.provider !== null) return headerOf(session.state.provider)
  const [found] =
    isStored(tariff) && tariff.providerId !== null ? await findProviders(transaction.query, [tariff.providerId]) : []
  const { id = null, displayName = tariff.displayName ?? '', logoUrl = null } = found ?? {}
  return { provider: { id, display_name: displayName, logo_url: logoUrlOf({ displayName, logoUrl }) } }
}

const summaryData = async (context: PageContext): Promise<Data> => {
  const { dependencies, transaction, session, location, at } = context
  const tariff = await shownTariff(context)
  if (tariff === null) return { ...headerOf(session.state.provider), rates: { yesterday: [], today: [], tomorrow: [] } }
  const currency = location?.currencyCode ?? session.state.currencyCode
  const provider = await providerOf(context, tariff)
  const { term } = session.state
  const zone = zoneOfSession(dependencies, session, location)
  const summaryTariff = summaryTariffToWire(tariff, {
    termType: term === null || term.type === '' ? null : term.type,
    zone,
    at,
  })
  if (isFixedSummary(session, tariff, at)) {
    const price = scheduleAt(tariff, at)[0]?.daysAndHours[0]?.hours[0]?.rate[0]?.fixed ?? 0n
    return { currency_code: currency, cost: scaledNumber(price, moneyScale), ...provider, tariff: summaryTariff }
  }
  return {
    connection_type: tariff.connectionType,
    currency_code: currency,
    market_rates_source: tariff.marketRates,
    ...provider,
    ...(await summaryChargeData(context, tariff)),
    tariff: summaryTariff,
    rates: isStored(tariff)
      ? await ratesOfStored(dependencies, transaction, tariff, at)
      : await ratesOfDesired(context, tariff),
  }
}

/** Return whether the page is the fixed summary of the earlier API version: one price at all times. */
const isFixedSummary = ({ config }: StoredSession, tariff: StoredTariff | SummaryTariff, at: number): boolean =>
  config.layout === 'earlier' && structureType(tariff, at) === 'FIXED'

const pageDataOf = async (page: ConnectPageName, context: PageContext): Promise<Data> => {
  const { session, token } = context
  const { state } = session
  const zone = zoneOfSession(context.dependencies, session, context.location)
  const currency = { currency_code: state.currencyCode }
  switch (page) {
    case 'address':
      return { postal_address: addressOf(state) }
    case 'provider':
      return providersData(context)
    case 'provider_name':
      return {
        postal_address: addressOf(state),
        provider: { name: state.provider?.id === null ? state.provider.displayName : '' },
      }
    case 'library':
      return libraryData(context)
    case 'structure':
      return { options: structuresOf(session.config, state) }
    case 'fixed':
      return { ...currency, cost: numberOf(state.cost), ...standingChargeData(session) }
    case 'time_of_day':
      return { ...currency, ...hoursData(state), ...standingChargeData(session) }
    case 'advanced':
      return { ...currency, ...advancedData(session, zone), ...standingChargeData(session) }
    case 'region':
      return { regions: state.regions, region: state.region }
    case 'surcharge':
      return { ...currency, ...surchargeData(session), ...standingChargeData(session) }
    case 'name':
      return { tariff: { name: state.name ?? '' } }
    case 'term':
      return termData(state, zone)
    case 'pending':
    case 'failed':
      return { connection_type: 'DIRECT' }
    case 'summary':
      return summaryData(context)
    case 'login':
      return redirectData(state.provider?.loginUrl ?? '', session, token)
    case 'end':
      return endData(session, token)
  }
}

/** Return the data of a page that sends the browser to a URL, with the token in the URL. */
export const redirectData = (url: string, { config }: StoredSession, token: string): Data => {
  const address = withToken(url, token)
  return config.layout === 'earlier' ? { redirect_url: address, redirect_uri: address } : { redirect_url: address }
}

/** Return the URL to which the browser goes at the end. Clients open it unchanged, so it contains the token. */
const endData = ({ config, request }: StoredSession, token: string): Data => {
  const address = withToken(request.callbackUrl, token)
  return config.layout === 'earlier'
    ? { callback_uri: address, callback_url: address }
    : { redirect_url: address, callback_url: address }
}

/** Actions that change a tariff. A read-only session does not offer them. */
const changingActions: readonly ConnectAction[] = ['EDIT', 'DISCONNECT', 'SAVE']

const shownActions = (page: ConnectPageName, session: StoredSession, at: number): readonly ConnectAction[] => {
  const isTokenReadOnly = isReadOnly(session, at)
  const isShown = (action: ConnectAction): boolean =>
    action === 'WRONG_TARIFF_REPORT'
      ? !session.state.isReported
      : !(isTokenReadOnly && changingActions.includes(action))
  return actionsOf(page, session.config.layout).filter(isShown)
}

/** Create a page of a session. Only some pages name the direction of the tariff. */
export const createPage = (
  { config, liveMode }: StoredSession,
  token: string,
  { route, actions, data }: Pick<ConnectPage, 'route' | 'actions' | 'data'>,
): ConnectPage => ({
  connect_token: token,
  route,
  type: config.type,
  ...(config.layout === 'earlier' || config.direction === 'EXPORT' ? { direction: config.direction } : {}),
  live_mode: liveMode,
  actions,
  data,
})

/** Return the current page of a session, or its end page if the visit ends with this call. */
export const drawPage = async (context: PageContext, isEnding: boolean): Promise<ConnectPage> => {
  const { session, token } = context
  const { config, state } = session
  const page = isEnding ? 'end' : (state.page ?? 'address')
  const data = await pageDataOf(page, context)
  const isFixed = page === 'summary' && 'cost' in data
  const header = 'provider' in data || page === 'address' || page === 'end' ? {} : headerOf(state.provider)
  return createPage(session, token, {
    route: routeOf(page, { apiVersion: config.layout, summaryName: config.summaryName, isFixed }),
    actions: [...shownActions(page, session, context.at)],
    data: { ...header, ...data },
  })
}
