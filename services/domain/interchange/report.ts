/** Reasons for which a part of a file is not imported. The list is closed. */
export const notImportedReasons = [
  'no_charges',
  'tier_unit',
  'tier_without_rate',
  'period_missing',
  'public_holidays',
  'net_metering',
  'netting',
  'per_session',
  'step_size',
  'tax',
  'unit',
  'coincident_peak',
  'reactive_power',
  'ratchet',
  'discount_by_attribute',
  'other_commodity',
  'power_reading',
  'formula',
  'currency',
  'reservation',
  'unknown_field',
] as const

export type NotImportedReason = (typeof notImportedReasons)[number]

/**
 * Part of a file that is not imported. `path` is its JSON pointer.
 * `affects` price: the part changes the price of a kWh, so its tariff is not imported. bill: the part adds to the bill.
 */
export type NotImported = {
  readonly path: string
  readonly reason: NotImportedReason
  readonly affects: 'price' | 'bill'
  readonly message: string
}

/** Part of a file without a price, such as a name. `path` is its JSON pointer. */
export type Noted = { readonly path: string; readonly message: string }
