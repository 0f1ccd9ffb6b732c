create index statements_final on statements (account_id, live_mode, start_date, id) where finalised_at is not null;
