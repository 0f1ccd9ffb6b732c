create table secret_fingerprints (
  name text collate "C" not null check (name in ('secret', 'credentials_key')),
  fingerprint text collate "C" not null,
  time_created timestamptz not null,
  primary key (name, fingerprint)
);
comment on table secret_fingerprints is 'The secrets that this database was used with. A process whose secret has no fingerprint here does not start.';
comment on column secret_fingerprints.fingerprint is 'SHA-256 of a key that is derived from the secret, in hex. The secret cannot be calculated from it.';
grant select, insert on secret_fingerprints to wattledger_operator;
