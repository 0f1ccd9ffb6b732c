create table plans (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  name text not null,
  currency_code text not null,
  revision bigint not null default 1,
  last_version integer not null default 1,
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id)
);
comment on table plans is 'Tariffs and charges that an account defines once for many locations.';
comment on column plans.revision is 'Rises with every change of the versions.';
comment on column plans.last_version is 'Highest version number that was ever used.';
call protect_tenant_table('plans');

create table plan_versions (
  account_id text collate "C" not null,
  live_mode boolean not null,
  plan_id text collate "C" not null,
  version integer not null,
  start_day integer,
  time_created timestamptz not null,
  primary key (account_id, live_mode, plan_id, version),
  constraint plan_versions_plan_fkey foreign key (account_id, live_mode, plan_id) references plans,
  constraint plan_versions_start_key unique nulls not distinct (account_id, live_mode, plan_id, start_day)
);
comment on column plan_versions.start_day is 'First local day, counted from 1970-01-01; null from ever. A version applies until the next one starts.';
call protect_tenant_table('plan_versions');

create table plan_tariffs (
  account_id text collate "C" not null,
  live_mode boolean not null,
  plan_id text collate "C" not null,
  version integer not null,
  key text collate "C" not null,
  place integer not null,
  direction text not null,
  type text not null,
  display_name text,
  provider_id text collate "C" constraint plan_tariffs_provider_fkey references providers,
  market_rates boolean not null,
  special_days text[] not null,
  terms jsonb not null,
  primary key (account_id, live_mode, plan_id, version, key),
  constraint plan_tariffs_version_fkey foreign key (account_id, live_mode, plan_id, version)
    references plan_versions on delete cascade
);
comment on table plan_tariffs is 'Tariffs of the versions. The tariffs of locations are copies with contract dates.';
comment on column plan_tariffs.key is 'Hash of the content.';
comment on column plan_tariffs.special_days is 'Days of the terms that need a calendar: Holidays, #name.';
comment on column plan_tariffs.terms is 'As tariffs.terms.';
call protect_tenant_table('plan_tariffs');

create table plan_charges (
  account_id text collate "C" not null,
  live_mode boolean not null,
  plan_id text collate "C" not null,
  version integer not null,
  key text collate "C" not null,
  place integer not null,
  start_day integer,
  end_day integer,
  special_days text[] not null,
  terms jsonb not null,
  schedule jsonb,
  primary key (account_id, live_mode, plan_id, version, key),
  constraint plan_charges_version_fkey foreign key (account_id, live_mode, plan_id, version)
    references plan_versions on delete cascade
);
comment on table plan_charges is 'Charges of the versions. The charges of locations are copies with their days.';
comment on column plan_charges.terms is 'As charges.terms.';
comment on column plan_charges.schedule is 'As charges.schedule.';
call protect_tenant_table('plan_charges');

create table plan_assignments (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  plan_id text collate "C" not null,
  location_id text collate "C" not null,
  start_day integer not null,
  end_day integer,
  applied_revision bigint not null,
  refusal_code text,
  refusal_message text,
  retry_at timestamptz,
  time_created timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint plan_assignments_plan_fkey foreign key (account_id, live_mode, plan_id) references plans,
  constraint plan_assignments_location_fkey foreign key (account_id, live_mode, location_id) references locations,
  constraint plan_assignments_days_check check (start_day < end_day),
  constraint plan_assignments_overlap exclude using gist (
    account_id with =, plan_id with =, location_id with =, int4range(start_day, end_day) with &&
  ) where (deleted_at is null)
);
comment on column plan_assignments.start_day is 'First local day, counted from 1970-01-01.';
comment on column plan_assignments.end_day is 'Exclusive; null is open.';
comment on column plan_assignments.applied_revision is
  'Revision of the plan that the tariffs and charges of the location have; 0: they must be compared again.';
comment on column plan_assignments.refusal_code is 'Why a revision cannot be applied; null if nothing is wrong.';
comment on column plan_assignments.retry_at is 'Earliest time of the next attempt after a refusal.';
create index plan_assignments_plan on plan_assignments (plan_id, account_id, live_mode, applied_revision, location_id)
  where deleted_at is null;
create index plan_assignments_location on plan_assignments (location_id, account_id, live_mode);
call protect_tenant_table('plan_assignments');

create table plan_turns (
  account_id text collate "C" not null,
  live_mode boolean not null,
  plan_id text collate "C" not null,
  due_at timestamptz not null,
  wakes bigint not null default 1,
  is_reported boolean not null default false,
  primary key (account_id, live_mode, plan_id),
  constraint plan_turns_plan_fkey foreign key (account_id, live_mode, plan_id) references plans
);
comment on table plan_turns is 'Plans whose locations do not have all changes yet, in the order of their next turn. Written in the transaction of the change; a row goes when all locations are done.';
comment on column plan_turns.wakes is 'Rises with every change, so that the end of the work does not remove a row with new work.';
comment on column plan_turns.is_reported is 'True after the event that reports the end of the work.';
create index plan_turns_due on plan_turns (account_id, due_at);
call protect_tenant_table('plan_turns');

alter table tariffs
  add column plan_id text collate "C",
  add column plan_version integer,
  add column plan_assignment_id text collate "C",
  add column plan_key text collate "C";
comment on column tariffs.plan_id is 'Plan that keeps the tariff; null if there is none.';
comment on column tariffs.plan_key is 'Key of plan_tariffs when the tariff was created.';
create unique index tariffs_plan on tariffs (plan_assignment_id, plan_version, plan_key, account_id, live_mode)
  where plan_assignment_id is not null and voided_at is null and closed_at is null;

alter table charges
  add column plan_assignment_id text collate "C",
  add column plan_key text collate "C";
comment on column charges.plan_key is 'Key of plan_charges when the charge was created.';
create unique index charges_plan on charges (plan_assignment_id, plan_version, plan_key, account_id, live_mode)
  where plan_assignment_id is not null and deleted_at is null;
