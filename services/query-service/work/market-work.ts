import type { ApiVersion } from '../../contract/api-version.ts'
import { marketPriceList, marketPricesToWire } from '../../contract/markets/market-price.ts'
import { pricesFrom } from '../../platform/postgres/price-block.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import { answerTexts, encodeTexts } from './answer-bytes.ts'

/** Stored prices of a market as the database gave them, to be written with an offset (minutes). */
export type MarketPricesInput = {
  readonly view: { readonly id: string; readonly liveMode: boolean; readonly currencyCode: string }
  readonly blocks: readonly string[]
  readonly offsetMinutes: number
  readonly layout: ApiVersion
}

/** Write stored prices of a market. */
export function* marketPricesWork({ view, blocks, offsetMinutes, layout }: MarketPricesInput): PausableWork {
  yield { head: null }
  const prices = yield* pricesFrom(blocks)
  const write = (from: number, to: number) =>
    marketPricesToWire({ ...view, prices: prices.slice(from, to) }, offsetMinutes)
  yield* encodeTexts(answerTexts({ operation: marketPriceList, apiVersion: layout, count: prices.length, write }))
}
