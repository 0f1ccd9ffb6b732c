/** Brand of an account in addition to its name; null: none. `brandColor` such as #0a5c3e. */
export type AccountBrand = {
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
  readonly logoUrl: string | null
  readonly brandColor: string | null
}

/** Stored account; both modes share it. Instants in ms; `requestsPerSecond` null: the limit of the installation. */
export type StoredAccount = AccountBrand & {
  readonly id: string
  readonly displayName: string
  readonly defaultApiVersion: 'current' | 'earlier'
  readonly requestsPerSecond: number | null
  readonly disabledAt: number | null
  readonly createdAt: number
}

/** Facts of an account for its overview; instants in ms. */
export type AccountFacts = {
  readonly timezone: string
  readonly currencyCodes: readonly string[]
  readonly endpoints: { readonly enabled: number; readonly failing: number; readonly disabled: number }
  readonly failedDeliveries: number
  readonly endingTariffs: readonly {
    readonly id: string
    readonly locationId: string
    readonly locationReference: string | null
    readonly locationName: string | null
    readonly displayName: string | null
    readonly contractEnd: number
  }[]
}
