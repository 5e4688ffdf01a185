-- +goose StatementBegin
DO $$ BEGIN
    PERFORM set_config('search_path', current_setting('applock.caller_search_path'), true);
END $$;
-- +goose StatementEnd
