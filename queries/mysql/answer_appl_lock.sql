-- name: AnswerApplLock :exec
CALL answer_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('fence'),
    sqlc.arg('asker_id'),
    sqlc.arg('client_id'),
    sqlc.arg('answer'),
    sqlc.arg('reason')
);
