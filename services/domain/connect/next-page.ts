import { type Page, placeOf } from './page.ts'
import { asksRegion, type ConnectConfig, type ConnectState, type Structure } from './session.ts'

const pageOf: Readonly<Record<Exclude<Structure, 'MARKET'>, Page>> = { FIXED: 'fixed', TIME_OF_DAY: 'time_of_day', ADVANCED: 'advanced' }

/** Name the page that captures the prices of a structure; market prices need none. */
export const pageOfStructure = (structure: Structure | null): Page | null =>
  structure === null || structure === 'MARKET' ? null : pageOf[structure]

/** Name the page after the choice of a supplier: its login, its tariffs, or the structure of one's own. */
export const pageAfterProvider = ({ provider }: ConnectState): Page => {
  if (provider?.loginUrl !== null && provider !== null) return 'login'
  return provider?.hasLibrary === true ? 'library' : 'structure'
}

/** Name the page after the choice of a structure. In the earlier layout the region is asked for together with the surcharge. */
export const pageAfterStructure = ({ layout }: ConnectConfig, state: ConnectState): Page =>
  pageOfStructure(state.structure) ?? (layout === 'current' && asksRegion(state) ? 'region' : 'surcharge')

/** Name the page after prices, name or term: those that are enabled, in this order, then the summary. */
export const pageAfterPrices = ({ capturesName, capturesTerm }: ConnectConfig, page: Page): Page => {
  if (capturesName && placeOf(page) < placeOf('name')) return 'name'
  return capturesTerm && placeOf(page) < placeOf('term') ? 'term' : 'summary'
}

/**
 * List the pages that BACK leads to once a page was submitted, itself the last. Where it was not passed on the way here, as a program that
 * posts a page that was skipped does, it takes its place in the order. A login at a provider is never gone back to.
 */
export const pagesBefore = (config: ConnectConfig, { trail, page }: ConnectState, submitted: Page): readonly Page[] => {
  const passed = [...trail, page].filter(one => one !== null && isReturnable(one)) as readonly Page[]
  if (!isReturnable(submitted)) return passed
  const index = passed.indexOf(submitted)
  if (index >= 0) return passed.slice(0, index + 1)
  const before = passed.filter(one => placeOf(one) < placeOf(submitted))
  return isAsked(config, submitted) ? [...before, submitted] : before
}

/** Whether the session shows a page at all; programs post those that it does not, and nobody goes back to them. */
const isAsked = (config: ConnectConfig, page: Page): boolean =>
  !(page === 'name' && !config.capturesName) && !(page === 'term' && !config.capturesTerm)

const isReturnable = (page: Page): boolean => page !== 'login' && page !== 'end'
