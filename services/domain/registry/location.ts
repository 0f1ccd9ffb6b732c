import type { PostalAddress } from '../geocoding/geo-place.ts'
import type { RegisterProperties } from '../record/reading-rules.ts'
import type { PendingTariff } from '../tariff/pending-tariff.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import type { OwnedObject } from '../tenant.ts'

/** Values that the caller has set; null members follow from the address. */
type LocationOverrides = {
  readonly timezone: string | null
  readonly currencyCode: string | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  /** Absent in locations that an earlier release stored. */
  readonly calendarId?: string | null
}

/**
 * Location to write: the values of the caller, and the values that follow from them. `timezone` is an IANA name;
 * degrees are decimal.
 */
export type LocationDraft = {
  readonly referenceId: string | null
  readonly displayName: string | null
  readonly customerId: string | null
  readonly postalAddress: PostalAddress | null
  readonly overrides: LocationOverrides
  readonly timezone: string
  readonly currencyCode: string
  readonly geoLocation: { readonly lat: number; readonly lng: number } | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  readonly calendarId: string | null
  readonly register: RegisterProperties | null
  readonly metadata: Readonly<Record<string, string>>
}

/** Values that the caller chose for a location. Null members follow from the address. */
export type LocationInput = Omit<LocationDraft, 'overrides' | 'geoLocation' | keyof LocationOverrides> &
  Required<LocationOverrides>

/** Active tariff of a location, with the members that the location shows; instants in ms. */
export type LocationTariff = {
  readonly id: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly status: 'CONNECTED' | 'ERROR'
  /** True if its prices follow the market source of the location. */
  readonly marketRates: boolean
  readonly contractStart: number | null
  readonly contractEnd: number | null
}

/** Stored location, with its active tariffs in the order of their ids; `createdAt` in ms. */
export type Location = LocationDraft &
  OwnedObject & {
    readonly tariffs: readonly LocationTariff[]
    /** Absent if no tariff is pending. */
    readonly pendingTariffs?: readonly PendingTariff[]
    readonly pricingRevision: number
  }
