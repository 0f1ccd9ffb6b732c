alter table simulations add column attempts integer not null default 0;
comment on column simulations.attempts is 'Turns since the last progress that did not end.';
