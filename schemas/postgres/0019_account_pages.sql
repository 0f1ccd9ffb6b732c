-- What the login of a supplier shows of an account. The account changes these addresses itself, and nothing else of its row.
alter table accounts add column privacy_url text, add column terms_url text, add column logo_url text;
comment on column accounts.privacy_url is 'Address of the privacy notice; null if there is none.';
comment on column accounts.terms_url is 'Address of the terms of use; null if there are none.';
comment on column accounts.logo_url is 'Address of the logo; null if there is none.';
create policy tenant_pages on accounts for update to wattledger_tenant
  using (id = current_setting('app.account_id', true)) with check (id = current_setting('app.account_id', true));
grant update (privacy_url, terms_url, logo_url) on accounts to wattledger_tenant;
