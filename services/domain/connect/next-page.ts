import { type ConnectPageName, pageOrder } from './page.ts'
import { type ConnectConfig, type ConnectState, isRegionOpen, type Structure } from './session.ts'

const structurePages: Readonly<Record<Exclude<Structure, 'MARKET'>, ConnectPageName>> = {
  FIXED: 'fixed',
  TIME_OF_DAY: 'time_of_day',
  ADVANCED: 'advanced',
}

/** Return the page that captures the prices of a structure; null for market prices. */
export const pageOfStructure = (structure: Structure | null): ConnectPageName | null =>
  structure === null || structure === 'MARKET' ? null : structurePages[structure]

/** Return the page after the choice of a provider: its login, its library, or the structure of a manual tariff. */
export const pageAfterProvider = ({ provider }: ConnectState): ConnectPageName => {
  if (provider?.loginUrl !== null && provider !== null) return 'login'
  return provider?.hasLibrary === true ? 'library' : 'structure'
}

/**
 * Return the page after the choice of a structure. In the earlier API version the surcharge page includes the region.
 */
export const pageAfterStructure = ({ layout }: ConnectConfig, state: ConnectState): ConnectPageName =>
  pageOfStructure(state.structure) ?? (layout === 'current' && isRegionOpen(state) ? 'region' : 'surcharge')

/** Return the page after prices, name or term: the enabled pages in this order, then the summary. */
export const pageAfterPrices = (
  { capturesName, capturesTerm }: ConnectConfig,
  page: ConnectPageName,
): ConnectPageName => {
  if (capturesName && pageOrder(page) < pageOrder('name')) return 'name'
  return capturesTerm && pageOrder(page) < pageOrder('term') ? 'term' : 'summary'
}

/**
 * List the pages that BACK returns to after a submit, the submitted page last. A program can submit a skipped page,
 * which is then added at its position in the fixed order. BACK never returns to a provider login.
 */
export const pagesBefore = (
  config: ConnectConfig,
  { trail, page }: ConnectState,
  submitted: ConnectPageName,
): readonly ConnectPageName[] => {
  const passedPages = [...trail, page].filter(one => one !== null && isReturnable(one)) as readonly ConnectPageName[]
  if (!isReturnable(submitted)) return passedPages
  const index = passedPages.indexOf(submitted)
  if (index >= 0) return passedPages.slice(0, index + 1)
  const before = passedPages.filter(one => pageOrder(one) < pageOrder(submitted))
  return isShown(config, submitted) ? [...before, submitted] : before
}

/** Check if the session shows a page. Programs can submit pages that it does not show; BACK never returns to them. */
const isShown = (config: ConnectConfig, page: ConnectPageName): boolean =>
  !(page === 'name' && !config.capturesName) && !(page === 'term' && !config.capturesTerm)

const isReturnable = (page: ConnectPageName): boolean => page !== 'login' && page !== 'end'
