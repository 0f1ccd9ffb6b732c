import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { listAnswer, pageRequest } from '../../contract/list.ts'
import {
  type MarketWire,
  marketCreate,
  marketDelete,
  marketList,
  marketObject,
  marketRetrieve,
  marketUpdate,
} from '../../contract/markets/market.ts'
import { marketPriceList, marketPricePut } from '../../contract/markets/market-price.ts'
import type { Operation, RequestOf } from '../../contract/operation.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { StoredMarket } from '../../domain/registry/market.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { putMarketPrices, readMarketPrices } from '../../platform/postgres/pricing/market-prices.ts'
import {
  createMarket,
  deleteMarket,
  listMarkets,
  lockMarket,
  type MarketWriter,
  retrieveMarket,
  updateMarket,
} from '../../platform/postgres/pricing/markets.ts'
import { withOperator, withTenant } from '../../platform/postgres/transaction.ts'
import { type Change, change, publishRecosts, tenantOf, writeAudit } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerWork } from '../work-thread/run-work.ts'

type Caller = Pick<RequestOf<Operation>, 'caller'>

/** Return the mode of a market source. A shared source has the mode of the caller. */
const liveModeOf = ({ liveMode }: StoredMarket, { caller }: Caller): boolean => liveMode ?? caller.liveMode

const toWire = (market: StoredMarket, request: Caller): MarketWire =>
  marketObject.toWire({ ...market, liveMode: liveModeOf(market, request) })

const noMarket = noObject('market source')

/** Read market sources as the operator or as an account, by the scope of the caller. */
const readMarket = <T>(
  { database }: QueryServiceDependencies,
  request: RequestOf<Operation>,
  read: (transaction: MarketWriter) => Promise<T>,
): Promise<T> =>
  request.caller.scope === 'operator' ? withOperator(database, read) : withTenant(database, tenantOf(request), read)

/**
 * Change market sources as the operator or as an account, by the scope of the caller.
 * `work` refuses before it writes, so a refusal to the operator needs no rollback.
 */
const changeMarket = async <T>(
  dependencies: QueryServiceDependencies,
  operation: Operation,
  request: RequestOf<Operation>,
  work: (transaction: MarketWriter) => Promise<Result<Change<T>>>,
): Promise<Result<T>> => {
  if (request.caller.scope !== 'operator') return change(dependencies, operation, request, work)
  const outcome = await withOperator(dependencies.database, async transaction => {
    const result = await work(transaction)
    if (result.ok) await writeAudit(transaction.query, operation, request, result.value)
    return result
  })
  if (!outcome.ok) return outcome
  await publishRecosts(dependencies, outcome.value)
  return accepted(outcome.value.value)
}

const unknownZone = refused('field_invalid', 'timezone must be an IANA time zone, such as Europe/Berlin', 'timezone')

const isZone = ({ timeZone }: QueryServiceDependencies, name: string | null): boolean =>
  name === null || timeZone(name) !== null

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(marketUpdate, request =>
    changeMarket(dependencies, marketUpdate, request, async transaction => {
      const before = await lockMarket(transaction, request.id)
      if (before === null) return noMarket
      const advice = 'create another market source'
      const { sent, change: patch } = request.body
      const refusal = refuseFixedChange(sent, toWire(before, request), marketObject.changeable, advice)
      if (refusal !== null) return { ok: false, refusal }
      if (!isZone(dependencies, patch.timezone ?? null)) return unknownZone
      const market = await updateMarket(transaction, before, patch)
      return accepted({ value: toWire(market, request), events: [] })
    }),
  )

const putPricesBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(marketPricePut, request =>
    changeMarket(dependencies, marketPricePut, request, async transaction => {
      const putResult = await putMarketPrices(transaction, request.id, request.body)
      if (!putResult.ok) return putResult
      const { stored, replaced, unchanged, fanOut } = putResult.value
      const changed = { value: { stored, replaced, unchanged }, events: [], changedPrices: fanOut }
      return accepted(stored + replaced === 0 ? { ...changed, audit: [] } : changed)
    }),
  )

const listPricesBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(marketPriceList, async request => {
    const { start_time: start, end_time: end } = request.query
    const read = await readMarket(dependencies, request, transaction =>
      readMarketPrices(transaction, request.id, { from: start.at, to: end.at }),
    )
    if (read === null) return noMarket
    const { id, currencyCode } = read.market
    const input = {
      view: { id, currencyCode, liveMode: liveModeOf(read.market, request) },
      blocks: read.blocks,
      offsetMinutes: end.offsetMinutes,
      apiVersion: request.apiVersion,
    }
    const bytes = read.blocks.reduce((length, block) => length + block.length, 0)
    const isSmall = read.blocks.length <= 1
    return answerWork(dependencies, request, { name: 'marketPrices', input, isSmall, bytes })
  })

/** Bind the operations on market sources and their prices. */
export const marketOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(marketCreate, request =>
    changeMarket(dependencies, marketCreate, request, async transaction => {
      if (!dependencies.isCurrency(request.body.currencyCode)) {
        return refused(
          'field_invalid',
          'currency_code must be the code of a currency in use, such as EUR',
          'currency_code',
        )
      }
      if (!isZone(dependencies, request.body.timezone)) return unknownZone
      const draft = { ...request.body, resolutionMinutes: null, importer: null }
      return accepted({ value: toWire(await createMarket(transaction, draft, request.at), request), events: [] })
    }),
  ),
  bind(marketList, async request => {
    const page = await readMarket(dependencies, request, transaction =>
      listMarkets(transaction, request.query.area ?? null, pageRequest(request.query)),
    )
    if (!page.ok) return page
    const items = page.value.items.map(market => toWire(market, request))
    return accepted(listAnswer('/markets', { items, hasMore: page.value.hasMore }))
  }),
  bind(marketRetrieve, async request => {
    const market = await readMarket(dependencies, request, transaction => retrieveMarket(transaction, request.id))
    return market === null ? noMarket : accepted(toWire(market, request))
  }),
  updateBinding(dependencies),
  bind(marketDelete, request =>
    changeMarket(dependencies, marketDelete, request, async transaction => {
      const deleted = await deleteMarket(transaction, request.id, request.at)
      if (!deleted.ok) return deleted
      const audit = [{ action: 'market.delete', objectId: request.id, detail: toWire(deleted.value, request) }]
      return accepted({ value: { message: 'Accepted' as const }, events: [], audit })
    }),
  ),
  putPricesBinding(dependencies),
  listPricesBinding(dependencies),
]
