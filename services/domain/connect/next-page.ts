import { type ConnectPageName, pageOrder } from './page.ts'
import { type ConnectConfig, type ConnectState, isRegionOpen, type Structure } from './session.ts'

const structurePages: Readonly<Record<Exclude<Structure, 'MARKET'>, ConnectPageName>> = {
  FIXED: 'fixed',
  TIME_OF_DAY: 'time_of_day',
  ADVANCED: 'advanced',
}

/** Name the page that captures the prices of a structure; market prices need none. */
export const pageOfStructure = (structure: Structure | null): ConnectPageName | null =>
  structure === null || structure === 'MARKET' ? null : structurePages[structure]

/** Name the page after the choice of a supplier: its login, its tariffs, or the structure of one's own. */
export const pageAfterProvider = ({ provider }: ConnectState): ConnectPageName => {
  if (provider?.loginUrl !== null && provider !== null) return 'login'
  return provider?.hasLibrary === true ? 'library' : 'structure'
}

/** Name the page after the choice of a structure. In the earlier layout the region is asked for together with the surcharge. */
export const pageAfterStructure = ({ layout }: ConnectConfig, state: ConnectState): ConnectPageName =>
  pageOfStructure(state.structure) ?? (layout === 'current' && isRegionOpen(state) ? 'region' : 'surcharge')

/** Name the page after prices, name or term: those that are enabled, in this order, then the summary. */
export const pageAfterPrices = (
  { capturesName, capturesTerm }: ConnectConfig,
  page: ConnectPageName,
): ConnectPageName => {
  if (capturesName && pageOrder(page) < pageOrder('name')) return 'name'
  return capturesTerm && pageOrder(page) < pageOrder('term') ? 'term' : 'summary'
}

/**
 * List the pages that BACK leads to once a page was submitted, itself the last. Where it was not passed on the way here, as a program that
 * posts a page that was skipped does, it takes its place in the order. A login at a provider is never gone back to.
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

/** Whether the session shows a page at all; programs post those that it does not, and nobody goes back to them. */
const isShown = (config: ConnectConfig, page: ConnectPageName): boolean =>
  !(page === 'name' && !config.capturesName) && !(page === 'term' && !config.capturesTerm)

const isReturnable = (page: ConnectPageName): boolean => page !== 'login' && page !== 'end'
