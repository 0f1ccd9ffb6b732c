alter table accounts add column summary_route text not null default 'tariffs_summary'
  check (summary_route in ('tariffs_summary', 'tariff_summary'));
comment on column accounts.summary_route is 'How Connect names its summary page in the current layout.';

create table connect_sessions (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null constraint connect_sessions_id_key unique,
  sealed_token text not null,
  key_id text collate "C" not null,
  config jsonb not null,
  request jsonb not null,
  state jsonb not null,
  customer_id text collate "C",
  location_id text collate "C",
  tariff_id text collate "C",
  saved_print text,
  complete_action text check (complete_action in ('SAVE', 'DISCONNECT')),
  completed_at timestamptz,
  announced_at timestamptz,
  time_created timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table connect_sessions is 'One for each Connect token; removed a day after it has expired.';
comment on column connect_sessions.id is 'HMAC-SHA-256 of the token under the secret of the installation, in hex.';
comment on column connect_sessions.sealed_token is 'The token, encrypted: events name it.';
comment on column connect_sessions.key_id is 'The API key that asked for the token: audit entries name it.';
comment on column connect_sessions.config is 'What the session may do, with its layout; fixed when the token was made.';
comment on column connect_sessions.request is 'What the caller asked for: addresses to come back to, references, the tariff to renew.';
comment on column connect_sessions.state is 'Where the session is and what was captured: services/domain/connect/session.ts.';
comment on column connect_sessions.tariff_id is 'The tariff that the session has kept; a later one of the same session takes its place.';
comment on column connect_sessions.saved_print is 'Hash of what the tariff was made of: the same again makes no other.';
comment on column connect_sessions.completed_at is 'Since when the session has done what it was made for.';
comment on column connect_sessions.announced_at is 'When connect_session.complete was written, in the transaction of this mark.';
create index connect_sessions_expiry on connect_sessions (expires_at);
create index connect_sessions_location on connect_sessions (location_id, account_id, live_mode) where location_id is not null;
create index connect_sessions_unannounced on connect_sessions (completed_at) where announced_at is null and complete_action = 'SAVE';
call protect_tenant_table('connect_sessions');

create table tariff_credentials (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  provider_id text collate "C" not null references providers,
  sealed text not null,
  reference_id text,
  direction text not null check (direction in ('IMPORT', 'EXPORT', 'LOCAL')),
  type text not null check (type in ('COMMODITY', 'NON_COMMODITY')),
  consented_at timestamptz,
  location_id text collate "C",
  tariff_id text collate "C",
  fetched_at timestamptz,
  failing_since timestamptz,
  failure_told_at timestamptz,
  due_at timestamptz,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table tariff_credentials is 'How the tariff of a location is fetched from its provider. Without consent a row lives for a day.';
comment on column tariff_credentials.sealed is 'What the person gave the provider''s app, encrypted with the key of the installation (AES-256-GCM).';
comment on column tariff_credentials.tariff_id is 'The tariff that was fetched last; null until the first fetch succeeds.';
comment on column tariff_credentials.failing_since is 'First failure after the last success, or after consent; null while it works.';
comment on column tariff_credentials.failure_told_at is 'When tariff.fetch.failed was written for these failures.';
comment on column tariff_credentials.due_at is 'When the tariff is to be fetched next; null without consent.';
create index tariff_credentials_due on tariff_credentials (due_at) where due_at is not null;
create index tariff_credentials_location on tariff_credentials (location_id, account_id, live_mode) where location_id is not null;
create index tariff_credentials_tariff on tariff_credentials (tariff_id, account_id, live_mode) where tariff_id is not null;
call protect_tenant_table('tariff_credentials');

-- Credentials go with their tariff and their location, whatever ends these.
create function forget_tariff_credentials() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.closed_at is null and new.voided_at is null then return null; end if;
  end if;
  delete from tariff_credentials where account_id = old.account_id and live_mode = old.live_mode and tariff_id = old.id;
  return null;
end $$;
create trigger forget_credentials after delete or update of closed_at, voided_at on tariffs
  for each row execute function forget_tariff_credentials();

create function forget_location_credentials() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.deleted_at is null then return null; end if;
  end if;
  delete from tariff_credentials where account_id = old.account_id and live_mode = old.live_mode and location_id = old.id;
  delete from connect_sessions where account_id = old.account_id and live_mode = old.live_mode and location_id = old.id;
  return null;
end $$;
create trigger forget_credentials after delete or update of deleted_at on locations
  for each row execute function forget_location_credentials();

create table tariff_reports (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id bigint generated always as identity,
  session_id text collate "C" not null,
  location_id text collate "C",
  tariff_id text collate "C",
  provider_name text,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table tariff_reports is 'Tariffs that a person has reported as wrong on the summary, for the operator.';
call protect_tenant_table('tariff_reports');
