import type { ColumnType, Generated } from 'kysely'

/** An instant: ms when read, a timestamp's text when written (`toTimestamp`). */
type Instant = ColumnType<number, string, string>
type OptionalInstant = ColumnType<number | null, string | null | undefined, string | null>
/** Parsed when read; written as text. */
type Jsonb<T> = ColumnType<T, string | undefined, string>
/** Text both ways. */
type Json = string

export type Metadata = Readonly<Record<string, string>>

type Owned = { account_id: string; live_mode: boolean; id: string; time_created: Instant }
type Removable = { deleted_at: OptionalInstant }

/** The tables as `schemas/postgres` makes them. */
export type Tables = {
  accounts: {
    id: string
    display_name: string
    default_version: string
    requests_per_second: number | null
    disabled_at: OptionalInstant
    time_created: Instant
  }
  api_keys: Owned & {
    hash: string
    scope: 'read' | 'metering' | 'all'
    last4: string
    description: string | null
    revoked_at: OptionalInstant
  }
  audit_log: Omit<Owned, 'id'> & {
    id: Generated<number>
    actor: string
    action: string
    object_id: string | null
    detail: Jsonb<unknown>
    place: Generated<number>
    detail_hash: Generated<string>
    hash: Generated<string>
  }
  audit_heads: { account_id: string; live_mode: boolean; entries: number; hash: string }
  console_sessions: Omit<Owned, 'id'> & { hash: string; key_id: string; expires_at: Instant }
  contract_timers: {
    account_id: string
    live_mode: boolean
    tariff_id: string
    type: 'tariff.expiring' | 'tariff.expired'
    location_id: string
    due_at: Instant
  }
  market_sources: {
    id: string
    account_id: string | null
    live_mode: boolean | null
    display_name: string
    currency_code: string
    area: string | null
    resolution_minutes: number | null
    importer: string | null
    price_revision: Generated<number>
    forecast_from: OptionalInstant
    time_created: Instant
    deleted_at: OptionalInstant
  }
  market_prices: {
    source_id: string
    published: boolean
    start_time: Instant
    end_time: Instant
    value: string
    confidence: string | null
  }
  price_fan_outs: {
    source_id: string
    revision: number
    from_time: Instant
    to_time: Instant
    cursor: Generated<string>
    page: Generated<number>
    locations_done: Generated<number>
    locations_total: number | null
    turn_at: Instant
    tells: Generated<boolean>
  }
  customers: Owned & Removable & { reference_id: string | null; metadata: Jsonb<Metadata> }
  locations: Owned &
    Removable & {
      reference_id: string | null
      customer_id: string | null
      timezone: string
      currency_code: string
      postal_address: Json | null
      latitude: number | null
      longitude: number | null
      overrides: Jsonb<Readonly<Record<string, unknown>>>
      import_market_source_id: string | null
      export_market_source_id: string | null
      metadata: Jsonb<Metadata>
      pricing_revision: Generated<number>
    }
  devices: Owned & Removable & { reference_id: string; metadata: Jsonb<Metadata> }
  tariffs: Owned & {
    location_id: string
    direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
    type: 'COMMODITY' | 'NON_COMMODITY'
    connection_type: 'MANUAL' | 'LIBRARY' | 'DIRECT' | 'MARKET'
    status: 'CONNECTED' | 'ERROR'
    display_name: string | null
    provider_id: string | null
    library_tariff_id: string | null
    market_rates: boolean
    contract_start: OptionalInstant
    contract_end: OptionalInstant
    closed_at: OptionalInstant
    voided_at: OptionalInstant
    terms: Jsonb<unknown>
    versions: Jsonb<unknown>
  }
  events: Owned & { type: string; object_id: string | null; data: Json }
  outbox: {
    id: Generated<number>
    topic: string
    key: string
    account_id: string | null
    live_mode: boolean | null
    payload: Json
    time_created: Instant
  }
  idempotency_keys: {
    account_id: string
    live_mode: boolean
    key: string
    request_hash: string
    token: string
    holder: number | null
    started_at: Instant
    answer: Json | null
  }
  leases: { name: string; holder: string; epoch: number; expires_at: Instant }
  erasures: {
    account_id: string
    live_mode: boolean
    object_id: string
    location_ids: readonly string[]
    device_ids: readonly string[]
    other_ids: readonly string[]
    receipts_before: OptionalInstant
    asked_at: Instant
    until: Instant
    due_at: OptionalInstant
  }
  webhook_endpoints: Owned &
    Removable & {
      url: string
      event_types: readonly string[]
      description: string | null
      layout: 'current' | 'earlier'
      secrets: Jsonb<unknown>
      failing_since: OptionalInstant
      disabled_at: OptionalInstant
      disabled_reason: 'CALLER' | 'GONE' | 'FAILING' | null
    }
  webhook_deliveries: Owned & {
    endpoint_id: string
    event_id: string
    event_type: string
    bytes: number
    status: 'PENDING' | 'DELIVERED' | 'FAILED'
    round: Generated<number>
    attempts: Generated<number>
    due_at: OptionalInstant
    last_attempt_at: OptionalInstant
  }
  webhook_attempts: Owned & {
    delivery_id: string
    endpoint_id: string
    status_code: number | null
    error: string | null
    duration_ms: number
    response_body: string
  }
  webhook_resends: Owned & {
    endpoint_id: string
    from_time: Instant
    to_time: Instant
    include_delivered: boolean
    status: 'RUNNING' | 'DONE' | 'STOPPED'
    cursor_id: string
    end_id: string
    events_total: number
    events_done: Generated<number>
    deliveries_queued: Generated<number>
  }
  providers: Pick<Owned, 'id' | 'time_created'> & {
    display_name: string
    logo_url: string | null
    countries: readonly string[]
    address_types: readonly string[]
    direct: Jsonb<unknown> | null
  }
  secret_fingerprints: { name: string; fingerprint: string; time_created: Instant }
  lane_generations: { topic: string; generation: number; partitions: number; time_updated: Instant }
}
