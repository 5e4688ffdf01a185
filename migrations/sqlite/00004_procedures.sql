-- The procedures of the server dialects. SQLite has none: its operations are the statements in
-- queries/sqlite, so that nothing happens here but the version number.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
