-- Disabling an account ends its console sessions and bearer tokens for good: they do not work again after it is enabled.
alter table accounts add column access_generation integer not null default 0;
comment on column accounts.access_generation is 'Increases when the account is disabled. Sessions and tokens of another generation have ended.';
alter table console_sessions add column access_generation integer not null default 0;
comment on column console_sessions.access_generation is 'access_generation of the account at the sign-in.';
