create table providers (
  id text collate "C" primary key,
  display_name text not null,
  logo_url text,
  countries text[] not null,
  address_types text[] not null default '{}',
  direct jsonb,
  time_created timestamptz not null
);
comment on table providers is 'Suppliers of energy, the same for all accounts; kept by the operator.';
comment on column providers.countries is 'ISO 3166-1 alpha-2 codes.';
comment on column providers.address_types is 'RESIDENTIAL, COMMERCIAL; empty: both.';
comment on column providers.direct is 'How a person logs in at the provider; null where that is not offered.';
grant select on providers to wattledger_tenant;
grant select, insert, update, delete on providers to wattledger_operator;

create table library_tariffs (
  id text collate "C" primary key,
  provider_id text collate "C" not null references providers,
  name text not null,
  description text,
  countries text[] not null,
  currency_code text not null,
  direction text not null,
  type text not null,
  terms jsonb not null,
  time_created timestamptz not null
);
comment on column library_tariffs.terms is 'As tariffs.terms, with market_rates.';
create index library_tariffs_provider on library_tariffs (provider_id);
grant select on library_tariffs to wattledger_tenant;
grant select, insert, update, delete on library_tariffs to wattledger_operator;

create table tariffs (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  direction text not null check (direction in ('IMPORT', 'EXPORT', 'LOCAL')),
  type text not null check (type in ('COMMODITY', 'NON_COMMODITY')),
  connection_type text not null check (connection_type in ('MANUAL', 'LIBRARY', 'DIRECT', 'MARKET')),
  status text not null check (status in ('CONNECTED', 'ERROR')),
  display_name text,
  provider_id text collate "C" constraint tariffs_provider_fkey references providers,
  library_tariff_id text collate "C" references library_tariffs,
  market_rates boolean not null,
  contract_start timestamptz,
  contract_end timestamptz,
  closed_at timestamptz,
  voided_at timestamptz,
  terms jsonb not null,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id),
  constraint tariffs_location_fkey foreign key (account_id, live_mode, location_id) references locations,
  constraint tariffs_contract_check check (contract_start < contract_end),
  constraint tariffs_overlap exclude using gist (
    account_id with =, location_id with =, direction with =, type with =, tstzrange(contract_start, contract_end) with &&
  ) where (closed_at is null and voided_at is null)
);
comment on table tariffs is 'Tariffs are never removed, only closed or voided: stored costs name them.';
comment on column tariffs.contract_start is 'Inclusive; null is open.';
comment on column tariffs.contract_end is 'Exclusive; null is open. The pattern goes on after it, provisional.';
comment on column tariffs.closed_at is 'Since when the tariff is deleted, disconnected or replaced: its prices end here, those before stay.';
comment on column tariffs.voided_at is 'Since when it never was: no price of it holds.';
comment on column tariffs.terms is 'The schedule; prices and percentages as decimal texts of integers in 1e-9, tier bounds in 1e-6 Wh, times of day in seconds.';
create index tariffs_location on tariffs (location_id, account_id, live_mode);
call protect_tenant_table('tariffs');
