alter table connect_sessions add column replaced jsonb not null default '[]';
comment on column connect_sessions.replaced is
  'What the kept tariff took the place of: [{id, way, cutAt, contractEnd}], instants in ms. It holds again where the session keeps another tariff.';

create index tariff_credentials_session on tariff_credentials (session_id, account_id, live_mode);

alter table library_tariffs add column address_types text[] not null default '{}'
  check (address_types <@ array['RESIDENTIAL', 'COMMERCIAL']);
comment on column library_tariffs.address_types is 'Kinds of address that the tariff is offered at; empty: those of its provider.';
