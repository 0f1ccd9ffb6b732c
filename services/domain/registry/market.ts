import type { SharedObject } from '../tenant.ts'

/** Stored market source. `createdAt` in ms. */
export type StoredMarket = SharedObject & {
  readonly displayName: string
  readonly currencyCode: string
  readonly area: string | null
  /** Time zone in whose days the prices repeat; null for the default. */
  readonly timezone: string | null
  readonly resolutionMinutes: number | null
  readonly importer: string | null
  readonly priceRevision: number
}
