import type { ApiVersion } from '../../contract/api-version.ts'
import { marketPriceList, marketPricesToWire } from '../../contract/markets/market-price.ts'
import { pricesFrom } from '../../platform/postgres/pricing/price-block.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import { answerTexts, encodeTexts } from './answer-bytes.ts'

/** Stored prices of a market as PostgreSQL returned them, and the offset of the answer in minutes. */
export type MarketPricesInput = {
  readonly view: { readonly id: string; readonly liveMode: boolean; readonly currencyCode: string }
  readonly blocks: readonly string[]
  readonly offsetMinutes: number
  readonly apiVersion: ApiVersion
}

/** Write the stored prices of a market. */
export function* marketPricesWork({ view, blocks, offsetMinutes, apiVersion }: MarketPricesInput): PausableWork {
  yield { head: null }
  const prices = yield* pricesFrom(blocks)
  const write = (from: number, to: number) =>
    marketPricesToWire({ ...view, prices: prices.slice(from, to) }, offsetMinutes)
  yield* encodeTexts(answerTexts({ operation: marketPriceList, apiVersion, count: prices.length, write }))
}
