-- Row-level security is the second wall between accounts and modes: wattledger_tenant sees the rows of the account and mode that its
-- transaction has named, wattledger_operator sees all. Security is forced, so the owner of the tables has no third way.
create procedure protect_tenant_table(target regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant on %s to wattledger_tenant using (account_id = current_setting(''app.account_id'', true)'
    ' and live_mode = (current_setting(''app.live_mode'', true) = ''true''))', target);
  execute format('create policy operator on %s to wattledger_operator using (true)', target);
  execute format('grant select, insert, update, delete on %s to wattledger_tenant, wattledger_operator', target);
end $$;

create table accounts (
  id text collate "C" primary key,
  display_name text not null,
  default_version text not null,
  requests_per_second integer check (requests_per_second > 0),
  disabled_at timestamptz,
  time_created timestamptz not null
);
comment on table accounts is 'Both modes of a customer of ours. Rows of other tables name their account without a foreign key: an account is never removed, and the check would lock this row on every write.';
comment on column accounts.default_version is 'Layout of the interface for requests that name none, such as 2025-09-14.';
comment on column accounts.requests_per_second is 'Rate limit in each mode; null: that of the installation.';
comment on column accounts.disabled_at is 'Since when every request of the account is refused; null while it may work.';
alter table accounts enable row level security;
alter table accounts force row level security;
create policy tenant on accounts for select to wattledger_tenant using (id = current_setting('app.account_id', true));
create policy operator on accounts to wattledger_operator using (true);
grant select on accounts to wattledger_tenant;
grant select, insert, update, delete on accounts to wattledger_operator;

create table api_keys (
  account_id text collate "C" not null references accounts,
  live_mode boolean not null,
  id text collate "C" not null,
  hash text collate "C" not null constraint api_keys_hash_key unique,
  scope text not null check (scope in ('read', 'metering', 'all')),
  last4 text not null,
  description text,
  time_created timestamptz not null,
  revoked_at timestamptz,
  primary key (account_id, live_mode, id)
);
comment on column api_keys.hash is 'HMAC-SHA-256 of the key under the secret of the installation, in hex; the key itself is kept nowhere.';
comment on column api_keys.last4 is 'Last four characters of the key, for people to tell keys apart.';
call protect_tenant_table('api_keys');

create table audit_log (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id bigint generated always as identity,
  actor text not null,
  action text not null,
  object_id text collate "C",
  detail jsonb not null default '{}',
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on column audit_log.actor is 'Who did it: an API key (key_…), operator, or system.';
comment on column audit_log.action is 'What was done, as resource.verb: tariff.delete, api_key.create.';
call protect_tenant_table('audit_log');
