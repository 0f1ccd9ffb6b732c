/**
 * Every reason to refuse an input. The list is closed: each error answer, failed event and receipt has one of these
 * codes.
 */
export type RefusalCode = (typeof apiRefusalCodes)[number] | (typeof connectRefusalCodes)[number]

/** Codes that only calls of Connect have. */
export const connectRefusalCodes = [
  'data_json_invalid',
  'connect_token_missing',
  'connect_token_invalid',
  'route_invalid',
  'action_missing',
  'action_invalid',
  'address_line1_missing',
  'city_missing',
  'post_code_missing',
  'country_code_missing',
  'country_code_invalid',
  'provider_id_missing',
  'provider_id_invalid',
  'provider_name_missing',
  'tariff_id_missing',
  'tariff_id_invalid',
  'tariff_name_missing',
  'option_invalid',
  'option_not_supported',
  'cost_value_zero',
  'cost_value_negative',
  'valid_from_invalid',
  'valid_to_invalid',
  'gap_in_time_period',
  'incomplete_time_period',
  'market_region_invalid',
  'surcharge_percentage_invalid',
  'date_format_invalid',
  'auth_metadata_invalid',
  'consent_missing',
] as const

const apiRefusalCodes = [
  // reading
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
  'not_acceptable',
  'precondition_failed',
  'range_not_satisfiable',
  'header_invalid',
  'headers_too_large',
  'target_too_long',
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
  'reference_ambiguous',
  'location_not_found',
  'device_not_found',
  'customer_not_found',
  'tariff_not_found',
  'provider_not_found',
  'market_source_not_found',
  'plan_not_found',
  'calendar_not_found',
  'batch_not_found',
  'import_not_found',
  'event_not_found',
  'account_not_found',
  'geo_location_not_found',
  'currency_in_use',
  'market_in_use',
  'calendar_in_use',
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
  // whole bills
  'charge_invalid',
  'price_missing',
  'price_ambiguous',
  'steps_not_rising',
  'base_empty',
  'interval_not_supported',
  'calendar_required',
  'day_type_not_found',
  'periods_not_contiguous',
  'too_many_lines',
  'location_required',
  'statement_changed',
  'statement_overlap',
  'statement_incomplete',
  'statement_adjusted',
  'plan_managed',
  'plan_in_use',
  'version_exists',
  'too_many_versions',
  'too_many_assignments',
  'too_many_candidates',
  'too_many_simulations',
  'too_many_locations',
  'too_many_batches',
  'batch_not_done',
  'too_many_exports',
  'export_not_done',
  'export_folder_missing',
  // metering and cost
  'end_before_start',
  'interval_too_long',
  'time_out_of_range',
  'duplicate_record',
  'direction_pair_refused',
  'measurand_not_supported',
  'register_decreased',
  'register_dip',
  'implausible_energy',
  'location_ambiguous',
  'currency_ambiguous',
  'too_many_elements',
  'too_many_records',
  'batch_pending',
  'import_too_old',
  // users
  'address_taken',
  'last_owner',
  'too_many_users',
  // webhooks
  'too_many_webhook_endpoints',
  'webhook_url_refused',
  'webhook_endpoint_disabled',
  // service
  'unavailable',
  'internal_error',
] as const

export const refusalCodes: readonly RefusalCode[] = [...apiRefusalCodes, ...connectRefusalCodes]

export type Refusal = { readonly code: RefusalCode; readonly message: string; readonly field?: string }

/** Refusal of an input, as a result. */
export type Refused = { readonly ok: false; readonly refusal: Refusal }

/** Value of an accepted input, or its refusal. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refused

export const accepted = <T>(value: T): Result<T> => ({ ok: true, value })

export const refused = (code: RefusalCode, message: string, field?: string): Refused => ({
  ok: false,
  refusal: field === undefined ? { code, message } : { code, message, field },
})
