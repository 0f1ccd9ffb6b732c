alter table statements add column current_basis text, add column current_lines json;
alter table statements add constraint statements_current_check check (
  (current_basis is null) = (current_lines is null) and (current_basis is null or finalised_at is not null));
comment on column statements.current_basis is 'SHA-256 of all that decided current_lines.';
comment on column statements.current_lines is 'As lines, of the last calculation of the FINAL statement. Drafts compare them.';
