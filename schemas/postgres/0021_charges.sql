create table charges (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  plan_id text collate "C",
  plan_version integer,
  terms jsonb not null check (jsonb_typeof(terms) = 'object'),
  schedule json,
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint charges_location_fkey foreign key (account_id, live_mode, location_id) references locations,
  constraint charges_plan_check check ((plan_id is null) = (plan_version is null))
);
comment on table charges is 'Prices of a location beside its tariffs: standing charges, demand, sessions, limits, taxes.';
comment on column charges.plan_id is 'Plan that the charge follows from; null for a charge of its own.';
comment on column charges.plan_version is 'Version of the plan; null for a charge of its own.';
comment on column charges.terms is
  'Kind and members, without schedule; amounts, powers and fractions as decimal texts of integers in 1e-9, days as numbers since 1970-01-01.';
comment on column charges.schedule is 'Prices of energy by time, as tariffs.terms; null without a schedule.';
comment on column charges.deleted_at is 'Since when the charge never was. The row stays for cursors of lists.';
create index charges_location on charges (location_id, account_id, live_mode, id);
call protect_tenant_table('charges');
