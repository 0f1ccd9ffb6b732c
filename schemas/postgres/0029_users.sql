-- Users of the console are objects of their account and mode. A user of live mode may also enter test mode.
create table users (
  account_id text collate "C" not null references accounts,
  live_mode boolean not null,
  id text collate "C" not null,
  address text collate "C" not null,
  role text not null check (role in ('owner', 'support', 'read')),
  password_hash text,
  provider_issuer text collate "C",
  provider_subject text collate "C",
  session_generation integer not null default 0,
  time_created timestamptz not null,
  accepted_at timestamptz,
  deleted_at timestamptz,
  primary key (account_id, live_mode, id),
  check ((provider_issuer is null) = (provider_subject is null))
);
comment on table users is 'People who sign in to the console.';
comment on column users.address is 'E-mail address in lower case.';
comment on column users.password_hash is 'Argon2id: parameters, salt and hash as a PHC text; null without a password.';
comment on column users.provider_subject is 'Name of the user at the OpenID provider provider_issuer; null if not connected.';
comment on column users.session_generation is 'Sessions with another generation have ended.';
comment on column users.accepted_at is 'Instant of the first sign-in data; null while the user is only invited.';
create unique index users_address_key on users (account_id, live_mode, address) where deleted_at is null;
create unique index users_provider_key on users (provider_issuer, provider_subject) where deleted_at is null;
create index users_address on users (address) where deleted_at is null;
call protect_tenant_table('users');

create table user_links (
  account_id text collate "C" not null,
  live_mode boolean not null,
  user_id text collate "C" not null,
  hash text collate "C" not null constraint user_links_hash_key unique,
  purpose text not null check (purpose in ('invitation', 'reset')),
  time_created timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, live_mode, user_id),
  foreign key (account_id, live_mode, user_id) references users on delete cascade
);
comment on table user_links is 'Open links of invitations and resets. A used link is deleted; a new link replaces the link before.';
comment on column user_links.hash is 'HMAC-SHA-256 of the token in the link, under the secret of the installation, in hex.';
call protect_tenant_table('user_links');

alter table console_sessions add column user_generation integer;
comment on column console_sessions.key_id is 'Id of the API key or of the user who signed in.';
comment on column console_sessions.user_generation is 'session_generation of the user at the sign-in; null for a key.';
create index audit_log_actor on audit_log (account_id, live_mode, actor, place);
create index audit_log_object on audit_log (account_id, live_mode, object_id, place);
