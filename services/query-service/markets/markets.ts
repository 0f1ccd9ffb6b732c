import { listAnswer, pageRequest } from '../../contract/list.ts'
import { type MarketWire, marketCreate, marketDelete, marketList, marketRetrieve, marketToWire } from '../../contract/market.ts'
import { marketPriceList, marketPricePut } from '../../contract/market-price.ts'
import type { Operation, RequestOf } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { putMarketPrices, readMarketPrices } from '../../platform/postgres/market-prices.ts'
import {
  createMarket,
  deleteMarket,
  listMarkets,
  type MarketKeeper,
  retrieveMarket,
  type StoredMarket,
} from '../../platform/postgres/markets.ts'
import { withOperator, withTenant } from '../../platform/postgres/transaction.ts'
import { type Change, change, publishSoon, tenantOf, writeAudit } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { runWork } from '../work/run-work.ts'

/** A shared source is seen in the mode of whoever looks. */
const toWire = (market: StoredMarket, { caller }: Pick<RequestOf<Operation>, 'caller'>): MarketWire =>
  marketToWire({ ...market, liveMode: market.liveMode ?? caller.liveMode })

const noMarket = refused('not_found', 'No market source has this id')

/** Read as the keeper that the caller is: the operator of the shared sources, or an account of its own. */
const asKeeper = <T>(
  { database }: QueryServiceDependencies,
  request: RequestOf<Operation>,
  read: (keeper: MarketKeeper) => Promise<T>,
): Promise<T> => (request.caller.scope === 'operator' ? withOperator(database, read) : withTenant(database, tenantOf(request), read))

/** Change as the keeper that the caller is. Changes of sources refuse before they write, so the operator's need no undoing. */
const changeAsKeeper = async <T>(
  dependencies: QueryServiceDependencies,
  operation: Operation,
  request: RequestOf<Operation>,
  work: (keeper: MarketKeeper) => Promise<Result<Change<T>>>,
): Promise<Result<T>> => {
  if (request.caller.scope !== 'operator') return change(dependencies, operation, request, work)
  const made = await withOperator(dependencies.database, async keeper => {
    const result = await work(keeper)
    if (result.ok) await writeAudit(keeper.query, request, result.value)
    return result
  })
  if (!made.ok) return made
  await publishSoon(dependencies, made.value)
  return accepted(made.value.value)
}

/** Bind the operations on market sources and their prices. */
export const marketOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(marketCreate, request =>
    changeAsKeeper(dependencies, marketCreate, request, async keeper => {
      const { display_name: displayName, currency_code: currencyCode, area = null } = request.body
      if (!dependencies.isCurrency(currencyCode)) {
        return refused('field_invalid', 'currency_code must be that of a currency in use, such as EUR', 'currency_code')
      }
      const draft = { displayName, currencyCode, area, resolutionMinutes: null, importer: null }
      return accepted({ value: toWire(await createMarket(keeper, draft, request.at), request), events: [] })
    }),
  ),
  bind(marketList, async request => {
    const page = await asKeeper(dependencies, request, keeper =>
      listMarkets(keeper, request.query.area ?? null, pageRequest(request.query)),
    )
    if (!page.ok) return page
    const items = page.value.items.map(market => toWire(market, request))
    return accepted(listAnswer('/markets', { items, hasMore: page.value.hasMore }))
  }),
  bind(marketRetrieve, async request => {
    const market = await asKeeper(dependencies, request, keeper => retrieveMarket(keeper, request.id))
    return market === null ? noMarket : accepted(toWire(market, request))
  }),
  bind(marketDelete, request =>
    changeAsKeeper(dependencies, marketDelete, request, async keeper => {
      const deleted = await deleteMarket(keeper, request.id, request.at)
      if (!deleted.ok) return deleted
      const audit = [{ action: 'market.delete', objectId: request.id, detail: toWire(deleted.value, request) }]
      return accepted({ value: { message: 'Accepted' as const }, events: [], audit })
    }),
  ),
  bind(marketPricePut, request =>
    changeAsKeeper(dependencies, marketPricePut, request, async keeper => {
      const put = await putMarketPrices(keeper, request.id, request.body, request.at)
      if (!put.ok) return put
      const { stored, replaced, unchanged, fanOut } = put.value
      return accepted({ value: { stored, replaced, unchanged }, events: [], priced: fanOut })
    }),
  ),
  bind(marketPriceList, async request => {
    const { start_time: start, end_time: end } = request.query
    const read = await asKeeper(dependencies, request, keeper => readMarketPrices(keeper, request.id, { from: start.at, to: end.at }))
    if (read === null) return noMarket
    const { id, currencyCode, liveMode } = toMarket(read.market, request)
    const { layout, signal, caller } = request
    const input = { view: { id, currencyCode, liveMode }, blocks: read.blocks, offsetMinutes: end.offsetMinutes, layout }
    const bytes = read.blocks.reduce((length, block) => length + block.length, 0)
    const isSmall = read.blocks.length <= 1
    const begun = await runWork(dependencies.thread, { name: 'marketPrices', input, isSmall, bytes, account: caller.accountId, signal })
    return begun.ok ? { ok: true, written: begun.value.answer } : begun
  }),
]

const toMarket = (market: StoredMarket, { caller }: RequestOf<Operation>) => ({ ...market, liveMode: market.liveMode ?? caller.liveMode })
