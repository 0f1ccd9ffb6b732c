-- A session is named by an id that grants nothing; its token is kept as its keyed hash alone. Processes of the version before go on writing
-- rows without the one and with the other until they are replaced.
alter table connect_sessions alter column sealed_token drop not null;
alter table connect_sessions add column session_id text collate "C";
alter table connect_sessions no force row level security;
update connect_sessions set sealed_token = null, session_id = 'fps_' || lpad(to_hex((extract(epoch from time_created) * 1000)::bigint), 12, '0')
  || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12);
alter table connect_sessions force row level security;
alter table connect_sessions alter column session_id set not null, alter column session_id set default 'fps_'
  || lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12);
create unique index connect_sessions_session_id on connect_sessions (account_id, live_mode, session_id);
comment on column connect_sessions.sealed_token is 'Null: tokens are no longer kept.';
comment on column connect_sessions.session_id is 'fps_…: names the session in events and reads. Whoever knows it can do nothing with it alone.';

-- Tokens that events have told are replaced by the id of their session; where that is gone, by an id of its own.
alter table events no force row level security;
alter table outbox no force row level security;
alter table webhook_attempts no force row level security;
alter table idempotency_keys no force row level security;
create temporary table told_sessions on commit drop as
select e.account_id, e.live_mode, e.id, coalesce(
  (select s.session_id from connect_sessions s
   where s.account_id = e.account_id and s.live_mode = e.live_mode and s.announced_at = e.time_created
     and s.location_id is not distinct from e.data ->> 'location_id' order by s.session_id limit 1),
  'fps_' || lpad(to_hex((extract(epoch from e.time_created) * 1000)::bigint), 12, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)
) as session_id
from events e where e.type = 'connect_session.complete' and e.data ->> 'id' like 'cot\_%';
update events e set object_id = t.session_id,
  data = regexp_replace(e.data::text, '"id"\s*:\s*"cot_[0-9a-f]{32}"', '"session_id":"' || t.session_id || '"')::json
from told_sessions t where t.account_id = e.account_id and t.live_mode = e.live_mode and t.id = e.id;
update outbox o set key = regexp_replace(o.key, 'cot_[0-9a-f]{32}', t.session_id),
  payload = regexp_replace(regexp_replace(o.payload::text, '"id"\s*:\s*"cot_[0-9a-f]{32}"', '"session_id":"' || t.session_id || '"'),
    'cot_[0-9a-f]{32}', t.session_id, 'g')::json
from told_sessions t where t.account_id = o.account_id and t.live_mode = o.live_mode and t.id = o.payload ->> 'id';
-- What subscribers answered may repeat what they were sent.
update webhook_attempts set response_body = regexp_replace(response_body, 'cot_[0-9a-f]{32}', 'cot_removed', 'g')
where response_body ~ 'cot_[0-9a-f]{32}';
-- Answers that show a token are kept sealed. One in clear is given up: its request, sent again, makes a session of its own.
delete from idempotency_keys where answer::text ~ 'cot_[0-9a-f]{32}';
alter table events force row level security;
alter table outbox force row level security;
alter table webhook_attempts force row level security;
alter table idempotency_keys force row level security;
