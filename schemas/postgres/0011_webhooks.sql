create table webhook_endpoints (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  url text not null,
  event_types text[] not null,
  description text,
  layout text not null check (layout in ('current', 'earlier')),
  secrets jsonb not null,
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('CALLER', 'GONE', 'FAILING')),
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint webhook_endpoints_disabled check ((disabled_at is null) = (disabled_reason is null))
);
comment on column webhook_endpoints.event_types is 'What it takes: *, customer.*, customer.create.';
comment on column webhook_endpoints.layout is 'Of the events that it gets; set once, by the request that made it.';
comment on column webhook_endpoints.secrets is 'Newest first: sealed under the secret of the installation, and until when (ms) each signs; null is without end.';
comment on column webhook_endpoints.failing_since is 'First failure after which nothing succeeded; null while all is well.';
call protect_tenant_table('webhook_endpoints');

create table webhook_deliveries (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text not null,
  bytes integer not null,
  status text not null check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  round integer not null default 1,
  attempts integer not null default 0,
  due_at timestamptz,
  last_attempt_at timestamptz,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id),
  constraint webhook_deliveries_once unique (endpoint_id, event_id, account_id, live_mode),
  constraint webhook_deliveries_due check ((due_at is null) = (status <> 'PENDING'))
);
comment on column webhook_deliveries.bytes is 'About the size of what is sent.';
comment on column webhook_deliveries.round is 'Goes up with every resend: what an attempt of an earlier round brings no longer decides.';
comment on column webhook_deliveries.attempts is 'Made in this round.';
comment on column webhook_deliveries.due_at is 'When the next attempt is to be made; while one is under way, when another worker may take it over.';
create index webhook_deliveries_due_place on webhook_deliveries (endpoint_id, due_at, id) where due_at is not null;
create index webhook_deliveries_list on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_time on webhook_deliveries using brin (time_created);
call protect_tenant_table('webhook_deliveries');
alter table webhook_deliveries set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, fillfactor = 80);

create table webhook_attempts (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  delivery_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  status_code integer,
  error text,
  duration_ms integer not null,
  response_body text not null,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table webhook_attempts is 'Kept for 30 days.';
comment on column webhook_attempts.status_code is 'Null where no answer came; error says why.';
comment on column webhook_attempts.response_body is 'The first 16 KiB.';
create index webhook_attempts_delivery on webhook_attempts (delivery_id, id);
create index webhook_attempts_time on webhook_attempts using brin (time_created);
call protect_tenant_table('webhook_attempts');

create table webhook_resends (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  from_time timestamptz not null,
  to_time timestamptz not null,
  include_delivered boolean not null,
  status text not null check (status in ('RUNNING', 'DONE', 'STOPPED')),
  cursor_id text collate "C" not null,
  end_id text collate "C" not null,
  events_total integer not null,
  events_done integer not null default 0,
  deliveries_queued integer not null default 0,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on column webhook_resends.cursor_id is 'Last event that was looked at; the ids of events ascend with time.';
create index webhook_resends_running on webhook_resends (id) where status = 'RUNNING';
call protect_tenant_table('webhook_resends');
