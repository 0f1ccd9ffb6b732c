alter table simulations
  add column claim uuid,
  add column due_at timestamptz not null default clock_timestamp();
comment on column simulations.claim is 'Claim of the process that calculates; null: none.';
comment on column simulations.due_at is 'Instant from which a process may continue the simulation. While a process calculates, the end of its claim.';
