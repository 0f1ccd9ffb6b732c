create index outbox_topic on outbox (topic, id);

create table contract_timers (
  account_id text collate "C" not null,
  live_mode boolean not null,
  tariff_id text collate "C" not null,
  type text not null check (type in ('tariff.expiring', 'tariff.expired')),
  location_id text collate "C" not null,
  due_at timestamptz not null,
  primary key (account_id, live_mode, tariff_id, type)
);
comment on table contract_timers is 'What is still to be told of the ends of contracts. A row goes in the transaction that writes its event, so it is told once. Kept by triggers on tariffs: whatever writes a contract''s end sets its timers.';
comment on column contract_timers.type is 'Of the event.';
create index contract_timers_due on contract_timers (due_at);
call protect_tenant_table('contract_timers');

-- An end in the past of a new tariff is history, of which nobody is told; one that a change moves into the past has come with the change.
create function set_contract_timers() returns trigger language plpgsql as $$
declare
  known_at timestamptz := clock_timestamp();
begin
  if tg_op = 'UPDATE' then
    if (new.contract_end, new.closed_at is null, new.voided_at is null)
      is not distinct from (old.contract_end, old.closed_at is null, old.voided_at is null) then return null; end if;
  end if;
  if tg_op <> 'INSERT' then
    delete from contract_timers where account_id = old.account_id and live_mode = old.live_mode and tariff_id = old.id;
  end if;
  if tg_op = 'DELETE' then return null; end if;
  if new.contract_end is null or new.closed_at is not null or new.voided_at is not null then return null; end if;
  if tg_op = 'INSERT' then known_at := new.time_created; end if;
  if new.contract_end > known_at then
    insert into contract_timers (account_id, live_mode, tariff_id, type, location_id, due_at)
    values (new.account_id, new.live_mode, new.id, 'tariff.expiring', new.location_id, new.contract_end - interval '240 hours');
  end if;
  if new.contract_end > known_at or tg_op = 'UPDATE' and coalesce(old.contract_end > known_at, true) then
    insert into contract_timers (account_id, live_mode, tariff_id, type, location_id, due_at)
    values (new.account_id, new.live_mode, new.id, 'tariff.expired', new.location_id, new.contract_end);
  end if;
  return null;
end $$;
create trigger contract_timers after insert or delete or update of contract_end, closed_at, voided_at on tariffs
  for each row execute function set_contract_timers();

alter table tariffs no force row level security;
alter table contract_timers no force row level security;
insert into contract_timers (account_id, live_mode, tariff_id, type, location_id, due_at)
select t.account_id, t.live_mode, t.id, told.type, t.location_id, t.contract_end - told.ahead
from tariffs t, (values ('tariff.expiring', interval '240 hours'), ('tariff.expired', interval '0')) as told(type, ahead)
where t.contract_end > now() and t.closed_at is null and t.voided_at is null;
alter table tariffs force row level security;
alter table contract_timers force row level security;

alter table audit_log add column place bigint, add column detail_hash text, add column hash text;
comment on column audit_log.place is 'Place in the chain of its account and mode, from 1, without a gap.';
comment on column audit_log.detail_hash is 'SHA-256 of detail as text, in hex; it stays when the detail is erased.';
comment on column audit_log.hash is 'SHA-256 over the hash of the entry before and this entry, in hex: audit_hash says how.';
comment on column audit_log.detail is 'What was done, in full; {} once its object was erased.';

create table audit_heads (
  account_id text collate "C" not null,
  live_mode boolean not null,
  entries bigint not null,
  hash text not null,
  primary key (account_id, live_mode)
);
comment on table audit_heads is 'Number and hash of the last audit entry of each account and mode: entries that are missing at the end show. Written by the trigger alone.';
alter table audit_heads enable row level security;
alter table audit_heads force row level security;
create policy chain on audit_heads to current_user using (true);
create policy operator on audit_heads for select to wattledger_operator using (true);
grant select on audit_heads to wattledger_operator;

-- Each part is its length in bytes, a colon and itself; a missing one is a dash; commas between them.
create function audit_hash(variadic parts text[]) returns text language sql immutable as $$
  select encode(sha256(convert_to(string_agg(coalesce(octet_length(part) || ':' || part, '-'), ',' order by place), 'UTF8')), 'hex')
  from unnest(parts) with ordinality as p(part, place)
$$;

-- Who adds an entry holds the head of its chain until the end of the transaction: entries stand in the order of their commits.
create function chain_audit_entry() returns trigger language plpgsql security definer set search_path from current as $$
declare
  head audit_heads;
begin
  insert into audit_heads as known (account_id, live_mode, entries, hash) values (new.account_id, new.live_mode, 0, '')
  on conflict (account_id, live_mode) do update set entries = known.entries returning * into head;
  new.place := head.entries + 1;
  new.detail_hash := encode(sha256(convert_to(new.detail::text, 'UTF8')), 'hex');
  new.hash := audit_hash(head.hash, new.account_id, new.live_mode::text, new.place::text, new.actor, new.action, new.object_id,
    (extract(epoch from new.time_created) * 1000000)::bigint::text, new.detail_hash);
  update audit_heads set entries = new.place, hash = new.hash where account_id = new.account_id and live_mode = new.live_mode;
  return new;
end $$;
create trigger chain before insert on audit_log for each row execute function chain_audit_entry();

-- What is there already is chained in its order.
alter table audit_log no force row level security;
create temporary table audit_before on commit drop as select account_id, live_mode, actor, action, object_id, detail, time_created, id from audit_log;
delete from audit_log;
insert into audit_log (account_id, live_mode, actor, action, object_id, detail, time_created)
select account_id, live_mode, actor, action, object_id, detail, time_created from audit_before order by id;
alter table audit_log force row level security;
alter table audit_log alter column place set not null, alter column detail_hash set not null, alter column hash set not null;
create unique index audit_log_place on audit_log (account_id, live_mode, place);

-- The one change that is allowed is an erasure's: the detail goes, its hash stays.
create function keep_audit_entries() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.detail = '{}' and to_jsonb(new) - 'detail' = to_jsonb(old) - 'detail' then return new; end if;
  end if;
  raise exception 'audit entries are only ever added' using errcode = '42501';
end $$;
create trigger keep before update or delete on audit_log for each row execute function keep_audit_entries();
create trigger keep_all before truncate on audit_log for each statement execute function keep_audit_entries();
revoke update, delete on audit_log from wattledger_tenant, wattledger_operator;
grant update (detail) on audit_log to wattledger_operator;

create table console_sessions (
  account_id text collate "C" not null,
  live_mode boolean not null,
  hash text collate "C" not null constraint console_sessions_hash_key unique,
  key_id text collate "C" not null,
  time_created timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, live_mode, hash)
);
comment on table console_sessions is 'Who is signed in to the console. A session ends with its key.';
comment on column console_sessions.hash is 'HMAC-SHA-256 of what the cookie holds, under the secret of the installation, in hex.';
create index console_sessions_expires on console_sessions (expires_at);
call protect_tenant_table('console_sessions');

alter table idempotency_keys add column holder bigint;
comment on column idempotency_keys.holder is 'Advisory lock that the process of the attempt holds while it lives; null: unknown, then only time tells.';
