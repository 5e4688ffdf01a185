-- breaks: goose statements: the statement does not end
-- +goose Up
-- +goose StatementBegin
CREATE TABLE appl_lock_serialize (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_serialize VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE appl_lock_serialize
