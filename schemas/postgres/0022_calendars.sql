create table calendars (
  id text collate "C" primary key,
  account_id text collate "C",
  live_mode boolean,
  name text not null,
  country_code text,
  state text,
  source_version text,
  country_days json not null default '[]',
  add_days json not null default '[]',
  remove_days json not null default '[]',
  day_types json not null default '[]',
  revision bigint not null default 0,
  time_created timestamptz not null,
  deleted_at timestamptz,
  check ((account_id is null) = (live_mode is null)),
  check ((account_id is null) = (source_version is not null)),
  check (country_code is not null or state is null)
);
comment on table calendars is 'Public holidays and special days. Without an account they are shared: the defaults of locations in a country or state, which never change.';
comment on column calendars.source_version is 'Version of the source of a shared calendar''s dates: another version makes other calendars, for later locations.';
comment on column calendars.country_days is 'Public holidays of country and state when the calendar was created: [{day, name}], day counted from 1970-01-01. Later versions of the source do not move them.';
comment on column calendars.add_days is 'Holidays that the account added: [{day, name}].';
comment on column calendars.remove_days is 'Holidays of the country that the account removed: [day].';
comment on column calendars.day_types is 'Special days by name: [{name, days}].';
comment on column calendars.revision is 'Raised by every change of dates.';
comment on column calendars.deleted_at is 'A deleted calendar stays: records of deleted locations may still be priced with it.';
create index calendars_tenant on calendars (account_id, live_mode, id);
create unique index calendars_country on calendars (country_code, coalesce(state, ''), source_version) where account_id is null;
alter table calendars enable row level security;
alter table calendars force row level security;
create policy visible on calendars for select to wattledger_tenant
  using (account_id is null
    or account_id = current_setting('app.account_id', true) and live_mode = (current_setting('app.live_mode', true) = 'true'));
create policy tenant on calendars to wattledger_tenant
  using (account_id = current_setting('app.account_id', true) and live_mode = (current_setting('app.live_mode', true) = 'true'));
create policy operator on calendars to wattledger_operator using (true);
grant select, insert, update, delete on calendars to wattledger_tenant, wattledger_operator;

alter table locations add column calendar_id text collate "C" constraint locations_calendar_fkey references calendars;
comment on column locations.calendar_id is 'Calendar of holidays and day types; null if country and state are unknown and the caller set none.';
create index locations_calendar on locations (calendar_id, id) where calendar_id is not null;

alter table tariffs add column special_days text[] not null default '{}';
comment on column tariffs.special_days is 'Special days that its schedules name: Holidays, #name. A change of these days prices its records again.';

create table calendar_fan_outs (
  account_id text collate "C" not null,
  live_mode boolean not null,
  calendar_id text collate "C" not null references calendars on delete cascade,
  revision bigint not null,
  names text[] not null,
  start_day integer not null,
  end_day integer not null,
  cursor text collate "C" not null,
  turn_at timestamptz not null,
  primary key (account_id, live_mode, calendar_id, revision),
  check (start_day < end_day)
);
comment on table calendar_fan_outs is 'Changes of calendars whose locations are still to be priced again, page by page; a row goes with its last page. Written in the transaction of the change, which does the first page.';
comment on column calendar_fan_outs.names is 'Special days that changed: Holidays, #name.';
comment on column calendar_fan_outs.start_day is 'First local day that changed, counted from 1970-01-01; inclusive.';
comment on column calendar_fan_outs.end_day is 'Exclusive.';
comment on column calendar_fan_outs.cursor is 'Id of the last location that is done.';
create index calendar_fan_outs_turn on calendar_fan_outs (turn_at);
call protect_tenant_table('calendar_fan_outs');
