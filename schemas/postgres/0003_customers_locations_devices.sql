-- Lists are newest first. Ids ascend with time, so reading the primary key backwards is the order of a list. The other indexes lead with a
-- column of their own and leave its nulls out, so that no list can take them for the primary key while a fast-growing table has no statistics.

create table customers (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  reference_id text collate "C",
  metadata jsonb not null default '{}',
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id)
);
comment on column customers.deleted_at is 'Deleted objects stay, hidden, because metering rows name them.';
create unique index customers_reference_id_key on customers (reference_id, account_id, live_mode) where deleted_at is null and reference_id is not null;
call protect_tenant_table('customers');

create table locations (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  reference_id text collate "C",
  customer_id text collate "C",
  timezone text not null,
  currency_code text not null,
  postal_address json,
  latitude double precision,
  longitude double precision,
  overrides jsonb not null default '{}',
  import_market_source_id text collate "C" constraint locations_import_market_source_fkey references market_sources,
  export_market_source_id text collate "C" constraint locations_export_market_source_fkey references market_sources,
  metadata jsonb not null default '{}',
  pricing_revision bigint not null default 0,
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint locations_customer_fkey foreign key (account_id, live_mode, customer_id) references customers
);
comment on column locations.timezone is 'IANA name.';
comment on column locations.latitude is 'Degrees north; null where only state or country are known.';
comment on column locations.longitude is 'Degrees east; null where only state or country are known.';
comment on column locations.overrides is 'What the caller has set against what follows from the address: timezone, currency_code, market_sources.';
comment on column locations.import_market_source_id is 'Source of market tariffs in direction IMPORT.';
comment on column locations.export_market_source_id is 'Source of market tariffs in direction EXPORT.';
comment on column locations.pricing_revision is 'Raised in the transaction of every change that can alter the location''s prices, market prices apart.';
create unique index locations_reference_id_key on locations (reference_id, account_id, live_mode) where deleted_at is null and reference_id is not null;
create index locations_customer on locations (customer_id, account_id, live_mode, id) where customer_id is not null;
create index locations_import_market_source on locations (import_market_source_id, id) where import_market_source_id is not null;
create index locations_export_market_source on locations (export_market_source_id, id) where export_market_source_id is not null;
call protect_tenant_table('locations');

create table devices (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  reference_id text collate "C" not null,
  metadata jsonb not null default '{}',
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id)
);
create unique index devices_reference_id_key on devices (reference_id, account_id, live_mode) where deleted_at is null and reference_id is not null;
call protect_tenant_table('devices');
