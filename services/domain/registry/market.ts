/** Stored market source. A source without an account is shared and has no mode. `createdAt` in ms. */
export type StoredMarket = {
  readonly id: string
  readonly accountId: string | null
  readonly liveMode: boolean | null
  readonly displayName: string
  readonly currencyCode: string
  readonly area: string | null
  /** Time zone in whose days the prices repeat; null for the default. */
  readonly timezone: string | null
  readonly resolutionMinutes: number | null
  readonly importer: string | null
  readonly priceRevision: number
  readonly createdAt: number
}

/** Market source in the mode of a caller. */
export type Market = StoredMarket & { readonly liveMode: boolean }
