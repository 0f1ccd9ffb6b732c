/** Every reason for which input is not accepted. The list is closed: an answer, an event and a receipt name one of these. */
export type RefusalCode = (typeof refusalCodes)[number]

export const refusalCodes = [
  // reading
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
  'header_invalid',
  'headers_too_large',
  'request_timeout',
  'unknown_field',
  'unknown_parameter',
  'field_required',
  'field_invalid',
  'field_immutable',
  'field_too_long',
  'value_out_of_range',
  // access
  'bad_credentials',
  'token_expired',
  'insufficient_scope',
  'account_disabled',
  'rate_limited',
  // resources
  'not_found',
  'method_not_allowed',
  'api_version_not_supported',
  'cursor_not_found',
  'reference_id_taken',
  'location_not_found',
  'device_not_found',
  'customer_not_found',
  'tariff_not_found',
  'provider_not_found',
  'market_source_not_found',
  'batch_not_found',
  'session_not_found',
  'record_not_found',
  'event_not_found',
  'account_not_found',
  'geo_location_not_found',
  'currency_in_use',
  'market_in_use',
  'idempotency_mismatch',
  'idempotency_in_progress',
  'pending_connect',
  // tariffs and prices
  'tariff_overlap',
  'schedule_overlap',
  'schedule_gap',
  'schedule_invalid',
  'currency_mismatch',
  'no_tariff_connected',
  'no_price_data',
  'schedule_infeasible',
  'duration_too_long',
  // metering and cost
  'end_before_start',
  'interval_too_long',
  'time_out_of_range',
  'duplicate_record',
  'direction_pair_refused',
  'measurand_not_supported',
  'register_decreased',
  'location_ambiguous',
  'currency_ambiguous',
  'too_many_elements',
  'too_many_records',
  'batch_pending',
  // the world
  'unavailable',
  'internal_error',
] as const

export type Refusal = { readonly code: RefusalCode; readonly message: string; readonly field?: string }

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

export const accepted = <T>(value: T): Result<T> => ({ ok: true, value })

export const refused = (code: RefusalCode, message: string, field?: string): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: field === undefined ? { code, message } : { code, message, field },
})
