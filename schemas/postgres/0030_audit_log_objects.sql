create index audit_log_object on audit_log (object_id, account_id, live_mode, place) where object_id is not null;
